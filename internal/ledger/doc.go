// Package ledger is what a manager with locks writes down under them: which
// Xids are active ([Ascending]), which have rolled back ([Aborts]), which are
// pinned ([Pins]), which guards live ([Guards]) and which prunes wait for them
// ([Prunes]).
//
// Nothing here locks: callers hold, for every call, whatever lock they guard
// the value with; one for reading is enough where a method says that it only
// reads. An instant is a number that the manager lets grow with its history; 0
// is before every instant.
package ledger
