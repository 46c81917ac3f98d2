// Package pglog makes traces from the logs of PostgreSQL.
//
// It reads csvlog (log_destination = csvlog) of servers that logged every
// statement (log_statement = all): version 13, whose lines have 24 columns, and
// versions from 14 on, which have 26. Older versions lack backend_type and are
// refused.
//
// # What the log says, and what it does not
//
// A line is written when a statement starts. Nothing is written when it ends,
// except its error, or its duration if log_duration is on. So the instant of a
// COMMIT is that of its line, and an autocommit statement ends when it begins,
// unless its error or its duration says otherwise. A pg_sleep with a literal is
// the one statement whose duration the text shows; a transaction that is open
// during one stays open that long.
//
// The transaction_id of a line is that of the moment before the statement: 0 on
// the first write of a transaction. It corrects what the statements suggest: an
// xid that appears without a write in sight was drawn by the statement before
// (a function, a trigger); a write after which the transaction still has none
// wrote nothing (no row matched). The ids of savepoints are never shown.
//
// Lines of one session are in the order of session_line_num, which is also the
// test for lost lines; between sessions the time decides, to the millisecond,
// and then the order in the file.
//
// One line may hold several statements. Without BEGIN they are one transaction;
// a BEGIN among them takes those before it into its block. Under the extended
// protocol lines read "execute NAME: …", with parameters in the detail column,
// and several of them can be one transaction: virtual_transaction_id tells.
//
// An error inside a transaction block rolls back at once what the innermost
// savepoint, or else the transaction, has done, and leaves the session waiting
// for ROLLBACK (or ROLLBACK TO); an error at COMMIT ends the block. A session
// may end inside a transaction; where the log does not say when, the
// transaction is rolled back at the end of the log, as the snapshot that it
// holds may have stayed that long.
//
// # How statements become operations
//
// Every statement that reads or writes takes a snapshot, as package trace says.
// Reads and writes name the table and, if the statement has one table and its
// WHERE is a conjunction with an equality between a column and a literal, that
// column and value (the alphabetically first such column); otherwise the whole
// table. An INSERT shows no equality: it writes "the table". SELECT FOR UPDATE
// and its kin draw an xid, as on the server, and count as writes.
//
// A single-row autocommit write is an INSERT of one VALUES row outside any
// block, without ON CONFLICT and without a subquery. An UPDATE or DELETE is
// not, even by equality on a literal: it reads first, through a snapshot, and
// the log does not tell how many rows it found.
//
// What is not understood, or replaced by something near, is counted by kind in
// the [Report].
package pglog
