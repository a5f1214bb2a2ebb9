package binapi_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vlib"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

// victim is a VPP that can be killed and returns empty.
type victim struct {
	socket string
	kill   func() // returns when it is there again
	stall  func() // for a while
}

// Callers that all share a connection, and the one that takes its place when
// VPP is killed, get what they asked for or an error: never the reply to
// another request, and never nothing.
func TestStressVPP(t *testing.T) {
	t.Run("simulator", func(t *testing.T) {
		t.Parallel()
		sim, socket := vppsim.New(vppsim.Options{}), filepath.Join(t.TempDir(), "api.sock")
		if err := sim.ListenUnix(socket); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = sim.Close() })
		stressVPP(t, victim{socket: socket, kill: func() {
			if err := errors.Join(sim.Die(), sim.Restart()); err != nil {
				t.Error(err)
			}
		}, stall: func() { sim.Hang(); pass(); sim.Resume() }})
	})
	t.Run("real", func(t *testing.T) {
		vpp := realvpptest.Start(t)
		stressVPP(t, victim{socket: vpp.Socket, kill: func() { vpp.Kill(); vpp.Run() },
			stall: func() { vpp.Stop(); pass(); vpp.Continue() }})
	})
}

// pass lets some time go by, longer than the reply timeout.
func pass() { <-time.After(100 * time.Millisecond) }

func stressVPP(t *testing.T, v victim) {
	const callers, kills = 16, 4
	var answered, failed atomic.Int64
	ends := make(chan struct{})
	shared := &sharedConn{opts: binapi.Options{Socket: v.socket, ReplyTimeout: 50 * time.Millisecond, MaxRequests: 64}}
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(7, uint64(n)))
			for i := 0; ; i++ {
				select {
				case <-ends:
					return
				default:
				}
				conn, err := shared.get(t.Context())
				if err != nil { // VPP is not there
					failed.Add(1)
					<-time.After(time.Millisecond)
					continue
				}
				err = stressCall(t.Context(), conn, rnd, fmt.Sprintf("caller %d call %d", n, i))
				switch {
				case err == nil:
					answered.Add(1)
				case errors.Is(err, binapi.ErrDisconnected), errors.Is(err, binapi.ErrReplyTimeout), errors.Is(err, binapi.ErrReplyLost),
					errors.Is(err, context.DeadlineExceeded):
					failed.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	for range kills {
		reached(t, &answered, 500)
		v.stall()
		reached(t, &answered, 500)
		v.kill()
	}
	reached(t, &answered, 500)
	close(ends)
	wg.Wait()
	shared.close()
	t.Logf("%d answered, %d failed, %d connections", answered.Load(), failed.Load(), shared.dials)
	if failed.Load() == 0 || shared.dials <= kills {
		t.Error("nothing went wrong, which this test is about")
	}
}

// reached waits for so many more answers.
func reached(t *testing.T, answered *atomic.Int64, more int64) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	until := answered.Load() + more
	for late := time.Now().Add(time.Minute); answered.Load() < until; <-tick.C {
		if time.Now().After(late) {
			t.Fatalf("%d answers are missing", until-answered.Load())
		}
	}
}

// stressCall makes some request whose reply reports which one it belongs to.
func stressCall(ctx context.Context, c *binapi.Conn, rnd *rand.Rand, token string) error {
	switch rnd.IntN(3) {
	case 0: // VPP says the command that it does not know
		reply := &vlib.CliInbandReply{}
		err := c.Invoke(ctx, &vlib.CliInband{Cmd: strings.ReplaceAll(token, " ", "-")}, reply)
		if err == nil && !strings.Contains(reply.Reply, strings.ReplaceAll(token, " ", "-")) {
			return fmt.Errorf("the reply to %q is %q", token, reply.Reply)
		}
		return err
	case 1: // local0 is in every VPP
		ctx, cancel := context.WithTimeout(ctx, time.Duration(rnd.IntN(20))*time.Millisecond)
		defer cancel()
		all, err := binapi.Dump[*interfaces.SwInterfaceDetails](ctx, c, &interfaces.SwInterfaceDump{SwIfIndex: 0})
		if err == nil && (len(all) != 1 || all[0].InterfaceName != "local0") {
			return fmt.Errorf("the dump of local0 has %d records", len(all))
		}
		return err
	}
	index := interface_types.InterfaceIndex(1000 + rnd.IntN(1000)) // of no interface
	err := c.Call(ctx, &interfaces.SwInterfaceSetFlags{SwIfIndex: index}, &interfaces.SwInterfaceSetFlagsReply{})
	if err == nil {
		return fmt.Errorf("interface %d was set up", index)
	}
	if refused := new(binapi.RetvalError); errors.As(err, &refused) && refused.Message == "sw_interface_set_flags" {
		return nil
	}
	return err
}

// sharedConn is a connection that is replaced when it has ended.
type sharedConn struct {
	opts  binapi.Options
	mu    sync.Mutex
	conn  *binapi.Conn
	dials int
}

func (s *sharedConn) get(ctx context.Context) (*binapi.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && s.conn.Err() == nil {
		return s.conn, nil
	}
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
	conn, err := binapi.Dial(ctx, s.opts)
	if err != nil {
		return nil, err
	}
	s.conn, s.dials = conn, s.dials+1
	return conn, nil
}

func (s *sharedConn) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close()
	}
}
