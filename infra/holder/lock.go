package holder

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Lock is a name that one process of a network namespace can have at a time: a
// listening unix socket in the abstract namespace. The kernel gives it up with the
// process, however that ends, and each network namespace has its own names, so that
// containers which share one see each other. A Lock keeps its network namespace alive.
type Lock struct {
	listener *net.UnixListener
	answers  sync.WaitGroup
	mu       sync.Mutex
	waiting  map[*net.UnixConn]bool // agents that wait for the end of the lock
	closed   bool
}

// maxName is the longest name of an abstract socket.
const maxName = 107

// socketName is the name of the lock of a southbound for a label.
func socketName(southbound, label string) string {
	name := fmt.Sprintf("@tenuto/%s/%s", southbound, label)
	if len(name) > maxName {
		h := fnv.New64a()
		_, _ = h.Write([]byte(label)) // never fails
		name = fmt.Sprintf("@tenuto/%s/%s~%016x", southbound, label[:40], h.Sum64())
	}
	return name
}

// TryLock takes the lock of a southbound for the label of an agent. The error is a
// *HeldError if another agent has it; wait then returns when that agent gave it up, or
// ctx ended. After any other error no lock can be taken.
func TryLock(ctx context.Context, southbound string, me Identity) (lock *Lock, wait func(context.Context), err error) {
	name := socketName(southbound, me.Label)
	var silence error
	for range attempts {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", name)
		if err == nil {
			l := &Lock{listener: listener.(*net.UnixListener), waiting: map[*net.UnixConn]bool{}}
			l.answers.Go(func() { l.serve(me) })
			return l, nil, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, nil, fmt.Errorf("lock for label %q: %w", me.Label, err)
		}
		holder, conn, err := ask(ctx, name)
		switch {
		case err == nil:
			return nil, func(ctx context.Context) { untilClosed(ctx, conn) }, &HeldError{me.Label, holder}
		case errors.Is(err, errStranger):
			return nil, nil, fmt.Errorf("lock for label %q: %w", me.Label, err)
		}
		silence = err // it is about to begin, or to end
		pause(ctx, patience/attempts)
	}
	text := fmt.Sprintf("another process, which does not answer (%v)", silence)
	return nil, func(ctx context.Context) { pause(ctx, patience) }, &HeldError{me.Label, text}
}

// patience is how long a holder may take to answer, and the time between two attempts to
// reach one that does not. The first few of them follow each other faster.
const (
	patience = time.Second
	attempts = 5
)

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// errStranger: the name is used by a process that is no agent. Any user can take such a
// name, so that it must not keep an agent from its work.
var errStranger = errors.New("its socket belongs to another user's process")

// ask asks the holder of a name who it is. The connection ends with the lock.
func ask(ctx context.Context, name string) (text string, conn *net.UnixConn, err error) {
	dialer := net.Dialer{Timeout: patience}
	c, err := dialer.DialContext(ctx, "unix", name)
	if err != nil {
		return "", nil, err
	}
	conn = c.(*net.UnixConn)
	cred, err := credentials(conn)
	if err != nil {
		return "", nil, errors.Join(err, conn.Close())
	}
	if uid := int(cred.Uid); uid != 0 && uid != os.Geteuid() {
		return "", nil, errors.Join(fmt.Errorf("%w: pid %d, user %d", errStranger, cred.Pid, uid), conn.Close())
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	line, err := bufio.NewReader(io.LimitReader(conn, 1<<16)).ReadBytes('\n')
	var other Identity
	if err == nil {
		err = json.Unmarshal(line, &other)
	}
	if err != nil {
		return "", nil, errors.Join(err, conn.Close())
	}
	if cred.Pid != 0 { // as this process sees it, if it does
		other.PID = int(cred.Pid)
	}
	return other.String(), conn, nil
}

func credentials(conn *net.UnixConn) (cred *unix.Ucred, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	err = errors.Join(raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }), err)
	return cred, err
}

// untilClosed waits until the other end closes the connection.
func untilClosed(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	_ = conn.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, conn)
}

// maxWaiting is how many connections the holder keeps; others get the answer only.
const maxWaiting = 64

// serve tells each client who holds the lock, and keeps the connection open.
func (l *Lock) serve(me Identity) {
	line, err := json.Marshal(me)
	if err != nil {
		line = []byte("{}") // an Identity always has a text
	}
	line = append(line, '\n')
	for {
		conn, err := l.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no file descriptors
			time.Sleep(patience)
			continue
		}
		_ = conn.SetWriteDeadline(time.Now().Add(patience))
		if _, err := conn.Write(line); err != nil || !l.keep(conn) {
			_ = conn.Close()
			continue
		}
		l.answers.Go(func() {
			_, _ = io.Copy(io.Discard, conn) // until one of both ends closes it
			l.drop(conn)
		})
	}
}

func (l *Lock) keep(conn *net.UnixConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.waiting) >= maxWaiting {
		return false
	}
	l.waiting[conn] = true
	return true
}

func (l *Lock) drop(conn *net.UnixConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, conn)
	_ = conn.Close()
}

// Close gives the lock up. A nil Lock is closed already.
func (l *Lock) Close() error {
	if l == nil {
		return nil
	}
	err := l.listener.Close()
	l.mu.Lock()
	l.closed = true
	for conn := range l.waiting {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.answers.Wait()
	return err
}
