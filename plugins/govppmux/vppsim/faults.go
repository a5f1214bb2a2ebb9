package vppsim

import (
	"time"

	"go.fd.io/govpp/api"
)

// Forget makes the simulator not know a message and its reply: requests stay
// unanswered, and clients that connect later do not find it in the table. This is
// how a release without the message, or a disabled plugin, looks.
func (v *VPP) Forget(message string) error { return v.server.Forget(message) }

// Delay holds up requests of one name, with everything the same client sent behind
// them, for d before they take effect. Zero ends it.
func (v *VPP) Delay(message string, d time.Duration) error { return v.server.Delay(message, d) }

// Drop swallows the next n requests: no effect, no reply. Negative n: all of them.
func (v *VPP) Drop(message string, n int) error { return v.server.Drop(message, n) }

// Mute lets the next n requests take effect but loses their replies. Negative n:
// all of them.
func (v *VPP) Mute(message string, n int) error { return v.server.Mute(message, n) }

// Fail refuses the next n requests with an error, without effect. A dump, which
// cannot carry an error, returns nothing. Negative n: all of them.
func (v *VPP) Fail(message string, retval api.VPPApiError, n int) error {
	return v.server.Fail(message, int32(retval), n)
}

// FailAfter lets the next n requests take effect and reports an error all the same.
// Negative n: all of them.
func (v *VPP) FailAfter(message string, retval api.VPPApiError, n int) error {
	return v.server.FailAfter(message, int32(retval), n)
}

// Alter has change called with a copy of every record of a dump (..._details) before it is sent,
// which may change it; nil ends that. It is called with one record at a time.
func (v *VPP) Alter(change func(details api.Message)) { v.server.Alter(change) }

// HangAt hangs at the n-th request of one name from now, of any name if it is empty:
// before the request takes effect or, if late, after the effect and before the reply.
// Resume continues. n of 0 ends it.
func (v *VPP) HangAt(message string, n int, late bool) error {
	return v.server.HangAt(message, n, late)
}

// Hung reports whether the simulator hangs now.
func (v *VPP) Hung() bool { return v.server.Hung() }

// Hanging returns a channel that is closed while the simulator hangs, or when it hangs
// next.
func (v *VPP) Hanging() <-chan struct{} { return v.server.Hanging() }

// Patient ends the count of Stalled for the connected clients: they still wait for their
// replies.
func (v *VPP) Patient() { v.server.Patient() }

// Stalled returns, by name, how many requests were executed for clients that were
// connected while the simulator hung: from the one at which it hung to the end of their
// connection, or to Patient.
func (v *VPP) Stalled() map[string]uint64 { return v.server.Stalled() }

// Heal takes back what the commands above did to any message.
func (v *VPP) Heal() { v.server.Heal() }

// Hang stops all processing while connections stay open; Resume continues.
func (v *VPP) Hang() { v.server.Hang() }

// Resume ends Hang: what has arrived meanwhile is processed.
func (v *VPP) Resume() { v.server.Resume() }

// Disconnect breaks all connections and keeps the state: only the socket failed.
func (v *VPP) Disconnect() { v.server.Disconnect() }

// Die makes the simulated process crash: connections break, and connecting is
// refused until Restart.
func (v *VPP) Die() error { return v.server.Die() }

// Restart starts the simulated process again, after Die or in place of the running
// one: the state is empty, the process ID and the message IDs are others. Faults
// and handlers set by the user stay.
func (v *VPP) Restart() error {
	return v.server.Restart(func() {
		v.pid.Add(1)
		v.net.Reset()
	})
}
