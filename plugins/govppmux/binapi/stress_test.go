package binapi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vlib"
)

// unruly is a server that echoes commands and dumps, and now and then answers
// late, out of order, twice or never, stalls, or dies.
type unruly struct {
	mu   sync.Mutex
	rnd  *rand.Rand
	held []*incoming
}

func (u *unruly) handle(r *incoming) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch n := u.rnd.IntN(1000); {
	case n < 40: // keep for later
		r.payload = append([]byte(nil), r.payload...)
		u.held = append(u.held, r)
		return
	case n < 50: // never
		return
	case n < 60: // twice
		u.answer(r)
	case n < 61:
		_ = r.peer.nc.Close()
		return
	}
	u.answer(r)
	if len(u.held) > 20 || u.rnd.IntN(50) == 0 {
		u.rnd.Shuffle(len(u.held), func(i, j int) { u.held[i], u.held[j] = u.held[j], u.held[i] })
		for _, h := range u.held {
			u.answer(h)
			h.peer.flush()
		}
		u.held = nil
	}
}

func (u *unruly) answer(r *incoming) {
	switch r.name {
	case "cli_inband":
		var req vlib.CliInband
		r.decode(&req)
		r.reply(&vlib.CliInbandReply{Reply: req.Cmd})
	case "sw_interface_dump":
		var req interfaces.SwInterfaceDump
		r.decode(&req)
		for i := range 5 {
			r.reply(&interfaces.SwInterfaceDetails{SwIfIndex: interface_types.InterfaceIndex(i), InterfaceName: req.NameFilter})
		}
	}
}

// TestStress: whatever the server does, no caller gets the reply of another
// request, and every request ends.
func TestStress(t *testing.T) {
	t.Parallel()
	const workers, rounds = 32, 300
	u := &unruly{rnd: rand.New(rand.NewPCG(1, 2))}
	s := newServer(u.handle)
	opts := Options{Socket: s.listen(t), ReplyTimeout: 20 * time.Millisecond, MaxRequests: 20, MaxBytes: 2000}
	pool := &reconnecting{opts: opts}
	t.Cleanup(pool.close)
	var answered, timeouts, lost atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(3, uint64(w)))
			for i := range rounds {
				ctx, cancel := context.WithCancel(t.Context()) // no deadline: the reply timeout applies
				if rnd.IntN(4) == 0 {
					cancel()
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rnd.IntN(3000))*time.Microsecond)
				}
				err := stressRequest(ctx, pool.get(t), rnd, fmt.Sprintf("worker %d request %d", w, i))
				cancel()
				switch {
				case err == nil:
					answered.Add(1)
				case errors.Is(err, ErrReplyTimeout), errors.Is(err, ErrReplyLost), errors.Is(err, context.DeadlineExceeded):
					timeouts.Add(1)
				case errors.Is(err, ErrDisconnected):
					lost.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("answered %d, timed out %d, lost with the connection %d, connections %d",
		answered.Load(), timeouts.Load(), lost.Load(), pool.dials)
	if answered.Load() == 0 || timeouts.Load() == 0 || lost.Load() == 0 {
		t.Error("the server was not as unruly as this test needs")
	}
}

// stressRequest makes one request of some kind; an error that is none of the
// expected ones is the sign of a wrong reply.
func stressRequest(ctx context.Context, c *Conn, rnd *rand.Rand, token string) error {
	switch rnd.IntN(4) {
	case 0:
		return stressDump(ctx, c, token)
	case 1:
		return stressStream(ctx, c, token)
	case 2:
		reply := &vlib.CliInbandReply{}
		f := c.Send(ctx, &vlib.CliInband{Cmd: token}, reply)
		return echoed(f.Result(), reply.Reply, token)
	}
	reply := &vlib.CliInbandReply{}
	return echoed(c.Invoke(ctx, &vlib.CliInband{Cmd: token}, reply), reply.Reply, token)
}

func echoed(err error, got, want string) error {
	if err == nil && got != want {
		return fmt.Errorf("the reply to %q came for %q", got, want)
	}
	return err
}

func stressDump(ctx context.Context, c *Conn, token string) error {
	records, err := Dump[*interfaces.SwInterfaceDetails](ctx, c, &interfaces.SwInterfaceDump{NameFilterValid: true, NameFilter: token})
	for _, d := range records {
		if d.InterfaceName != token {
			return fmt.Errorf("a record for %q came for %q", d.InterfaceName, token)
		}
	}
	return err
}

func stressStream(ctx context.Context, c *Conn, token string) error {
	stream, err := c.NewStream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	if err := stream.SendMsg(&vlib.CliInband{Cmd: token}); err != nil {
		return err
	}
	m, err := stream.RecvMsg()
	if err != nil {
		return err
	}
	reply, ok := m.(*vlib.CliInbandReply)
	if !ok {
		return fmt.Errorf("a %T came for %q", api.Message(m), token)
	}
	return echoed(nil, reply.Reply, token)
}

// reconnecting holds one connection and replaces it when it ended.
type reconnecting struct {
	opts  Options
	mu    sync.Mutex
	conn  *Conn
	dials int
}

func (r *reconnecting) get(t *testing.T) *Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.conn == nil || r.conn.Err() != nil {
		if r.conn != nil {
			_ = r.conn.Close()
		}
		c, err := Dial(patient(t), r.opts)
		if err != nil {
			t.Error(err)
			continue
		}
		r.conn = c
		r.dials++
	}
	return r.conn
}

func (r *reconnecting) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != nil {
		_ = r.conn.Close()
	}
}

// TestContexts: never 0, without the top bit, and of the whole 31 bits before
// one comes again.
func TestContexts(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 2, 3, 4096, maxSlots} {
		opts, err := Options{MaxRequests: slots}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		c := newConn(nil, opts)
		last := uint32(1)<<(contextBits-c.slotBits) - 1
		for _, generation := range []uint32{0, 1, 77, last - 1, last} {
			for _, index := range []uint32{0, uint32(slots / 2), uint32(slots - 1)} {
				c.slots[index].generation = generation
				got := c.nextContext(index)
				if got == 0 || got>>contextBits != 0 || c.indexOf(got) != index {
					t.Errorf("%d slots, slot %d, generation %d: context %#x", slots, index, generation, got)
				}
			}
		}
	}
}
