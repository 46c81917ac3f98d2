// Package pin puts measuring threads on CPUs of their own and says how much of
// those CPUs they got.
//
// It knows the topology of the machine ([ReadTopology]), pins an OS thread and
// verifies the pin ([Thread]), reads a cheap clock ([NewClock]) and accounts for
// what a thread did not get: run delay, context switches, steal and pressure
// ([ThreadUsage], [ProcessUsage], [MachineUsage]).
//
// A guest hides part of this and other systems than Linux hide all of it. What
// cannot be known is [Unknown] in a number and "unknown" in a text; nothing is
// guessed.
package pin

// Unknown stands for a number that the system does not reveal.
const Unknown = -1
