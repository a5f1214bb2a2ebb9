package fairqueue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// host is the path of a client on a host.
func host(name, connection string) []string { return []string{name, name + ":" + connection} }

// Turns come round robin: among those who ask, and among the connections of each;
// who comes later waits for one turn of each of the others at most.
func TestRoundRobin(t *testing.T) {
	play(t, 20, func(s *scene) {
		s.take(s.ctx, Request{What: "first"})
		for i := range 4 {
			s.take(s.ctx, Request{What: fmt.Sprint("a", i), Path: host("A", "1")})
		}
		s.take(s.ctx, Request{What: "other", Path: host("A", "2")})
		s.take(s.ctx, Request{What: "b0", Path: host("B", "1")})
		s.take(s.ctx, Request{What: "b1", Path: host("B", "1")})
		s.take(s.ctx, Request{What: "file", Class: Source, Source: "file"})
		time.Sleep(1500 * time.Millisecond) // it is the turn of a0
		s.take(s.ctx, Request{What: "c", Path: host("C", "1")})
		s.want("first, first ends, a0, a0 ends, b0, b0 ends, file, file ends, other, other ends, c, c ends, b1, b1 ends, " +
			"a1, a1 ends, a2, a2 ends, a3, a3 ends")
	})
}

// A client that repeatedly sends single requests does not starve a client with many.
func TestNobodyStarves(t *testing.T) {
	play(t, 20, func(s *scene) {
		s.take(s.ctx, Request{What: "first"})
		for i := range 3 {
			s.take(s.ctx, Request{What: fmt.Sprint("a", i), Path: host("A", "1")})
		}
		for i := range 3 {
			s.take(s.ctx, Request{What: fmt.Sprint("b", i), Path: host("B", fmt.Sprint(i))}) // in time to be served
			time.Sleep(2 * time.Second)
		}
		s.want("first, first ends, a0, a0 ends, b0, b0 ends, a1, a1 ends, b1, b1 ends, a2, a2 ends, b2, b2 ends")
	})
}

// When the queue is full, the latest of those from whom most come makes room; the
// others are not refused for it.
func TestFloodYields(t *testing.T) {
	play(t, 5, func(s *scene) {
		s.take(s.ctx, Request{What: "first"})
		var refused []string
		for i := range 5 {
			s.take(s.ctx, Request{What: fmt.Sprint("a", i), Path: host("A", "1")})
		}
		for i, path := range [][]string{host("B", "1"), host("B", "2"), host("A", "2"), host("B", "3"), host("A", "1"), host("C", "1")} {
			s.take(s.ctx, Request{What: fmt.Sprint("x", i), Path: path})
			s.mu.Lock()
			if last := s.done[len(s.done)-1]; strings.Contains(last, "requests are queued") {
				what, why, _ := strings.Cut(last, ": ")
				_, why, _ = strings.Cut(why, "orchestrator.conf), ")
				why, _, _ = strings.Cut(why, ", the oldest")
				refused = append(refused, what+" as "+why)
				s.done = s.done[:len(s.done)-1]
			}
			s.mu.Unlock()
		}
		st := s.Status()
		if st.Refused != 6 || st.Clients != 5 || st.Most != "A" || st.MostWaiting != 2 {
			t.Errorf("status %+v", st)
		}
		const want = "a4 as 5 of them from A:1, a3 as 4 of them from A:1, a2 as 3 of them from A:1, " +
			"x3 as 2 of them from A:1, x4 as 2 of them from A:1, a1 as 2 of them from A:1"
		if got := strings.Join(refused, ", "); got != want {
			t.Errorf("refused: %s\nwant: %s", got, want)
		}
		s.want("first, first ends, a0, a0 ends, x0, x0 ends, x5, x5 ends, x2, x2 ends, x1, x1 ends")
	})
}

// Stores are not refused, and make no room for clients.
func TestStoresStay(t *testing.T) {
	play(t, 1, func(s *scene) {
		s.take(s.ctx, Request{What: "first"})
		s.take(s.ctx, Request{What: "file", Class: Source, Source: "file"})
		s.take(s.ctx, Request{What: "file again", Class: Source, Source: "file"})
		s.take(s.ctx, Request{What: "a", Path: host("A", "1")})
		if st := s.Status(); st.Waiting != 3 || st.Refused != 0 || st.Most != "A:1" {
			t.Errorf("status %+v", st)
		}
		s.want("first, first ends, file, file ends, a, a ends, file again, file again ends")
	})
}

// Whatever comes and goes, the shares say how many there are, and are gone when
// no request is waiting.
func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(8, time.Now, nil)
		rnd := rand.New(rand.NewPCG(1, 2))
		cancels := []context.CancelFunc{}
		var running *Turn
		done := make(chan *Turn, 1000)
		for range 1000 {
			switch rnd.IntN(4) {
			case 0, 1:
				ctx, cancel := context.WithCancel(t.Context())
				cancels = append(cancels, cancel)
				r := Request{Class: Class(rnd.IntN(3)), Path: host(fmt.Sprint(rnd.IntN(3)), fmt.Sprint(rnd.IntN(3)))}
				go func() {
					turn, err := q.Take(ctx, r)
					if err == nil {
						done <- turn
					} else if full := new(FullError); errors.As(err, &full) && full.Requests < 1 {
						t.Errorf("rejected, and no client has most: %v", err)
					}
				}()
			case 2:
				if len(cancels) > 0 {
					cancels[rnd.IntN(len(cancels))]()
				}
			case 3:
				q.Open()
				if running != nil {
					running.End()
					running = nil
				}
			}
			synctest.Wait()
			select {
			case running = <-done:
			default:
			}
			checkShares(t, q)
		}
		for _, cancel := range cancels {
			cancel()
		}
		synctest.Wait()
		if checkShares(t, q); len(q.groups.inside) > 0 || q.groups.clients > 0 {
			t.Errorf("no request is waiting, but groups remain: %+v", q.groups)
		}
	})
}

// checkShares compares the shares with the list of those who wait.
func checkShares(t *testing.T, q *Queue) {
	t.Helper()
	clients := map[string]int{}
	for e := q.waiting.Front(); e != nil; e = e.Next() {
		if turn := e.Value.(*Turn); turn.Class == Client {
			clients[""]++
			clients[turn.Path[0]]++
			clients[turn.Path[1]]++
		}
	}
	var look func(s *group)
	look = func(s *group) {
		if s.clients != clients[s.name] || s.name != "" && s.empty() {
			t.Fatalf("share %q: %d clients, %d wait", s.name, s.clients, clients[s.name])
		}
		delete(clients, s.name)
		for _, in := range s.inside {
			look(in)
		}
	}
	look(&q.groups)
	for name, n := range clients {
		if n > 0 {
			t.Fatalf("%d wait without a share: %s", n, name)
		}
	}
}
