// Package kvstest is for tests: of your own descriptors, and of the scheduler.
//
// # Testing a descriptor
//
// A descriptor makes promises that the scheduler builds on (see
// api.Descriptor). Test them in three steps, from cheap to thorough; each
// failure says which callback breaks which promise, and for which key.
//
// Check and CheckSamples need no southbound. They test that the scheduler
// accepts the descriptors together, that callbacks are pure and stand an empty
// message, that keys, labels, dependencies and derived values are well-formed,
// and that ValueComparator is an equivalence. Give samples that differ in every
// field that a callback looks at:
//
//	kvstest.CheckSamples(t, samples, lamps, switches)
//
// Conform needs the southbound, the real one or your fake of it; the best is to
// run the same test on both. It takes samples through create, change,
// re-creation and delete by way of a real scheduler, restarts the scheduler,
// loses values, makes operations fail before and after they took effect, and
// compares with Retrieve each time:
//
//	kvstest.Conform(t, lamps, samples, kvstest.Alongside(rooms, roomDescriptor))
//
// Exercise is the same life without a scheduler, for one value.
//
// # Injecting faults
//
// Faulty wraps a descriptor so that its operations fail on request, before they
// took effect or after, once or always, with an error or a panic. Use it to see
// what your plugin makes of failures, as in the example. The record of calls
// says what was done at all.
//
// # A southbound and a time of their own
//
// MockSB is a southbound in memory that refuses what is impossible, and has
// descriptors of items (package model) that list their own dependencies and
// derived values. NewScheduler starts a scheduler without an agent, and Clock
// is a time that moves only when told to, so that retries need no waiting.
//
// # Scenarios
//
// RunScripts runs files of commands with their expected output, which reads as
// a story and can be rewritten with -update:
//
//	# The port comes before the bridge that needs it.
//	descriptor port port/
//	descriptor bridge bridge/
//	commit 'bridge/1={deps: [port/1]}'
//	> CREATE bridge/1 [NOOP IS-PENDING]
//	status
//	> bridge/1 PENDING (port/1)
//	commit port/1
//	> CREATE port/1
//	> CREATE bridge/1 [WAS-PENDING]
//
// MockWorld is the world of such a story around a MockSB; make a Factory with
// your descriptors and your southbound, and add Commands of your own to it. The
// stories in plugins/kvscheduler/testdata use these commands.
package kvstest
