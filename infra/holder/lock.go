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
// listening unix socket in the abstract namespace. The kernel releases it when the
// process ends. Each network namespace has its own names, so containers that share one
// see each other. A Lock keeps its network namespace alive.
type Lock struct {
	listener *net.UnixListener
	answers  sync.WaitGroup
	mu       sync.Mutex
	waiting  map[*net.UnixConn]bool // agents that wait for the end of the lock
	closed   bool
}

// maxName is the maximum length of the name of an abstract socket.
const maxName = 107

// socketName returns the name of the lock of a southbound for a label.
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
// *HeldError if another agent or a process of another user has it; wait then returns when it may have been
// released, or when ctx has ended. After any other error no lock can be taken.
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
		case errors.Is(err, errForeignProcess):
			return nil, func(ctx context.Context) { pause(ctx, patience) }, &HeldError{me.Label, err.Error()}
		}
		silence = err // the holder is starting or stopping
		pause(ctx, patience/attempts)
	}
	text := fmt.Sprintf("another process, which does not reply (%v)", silence)
	return nil, func(ctx context.Context) { pause(ctx, patience) }, &HeldError{me.Label, text}
}

// patience is how long a holder may take to reply, and the time between two attempts to
// connect to a holder that does not reply. The first attempts follow at shorter
// intervals.
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

// errForeignProcess: a process of another user has taken the name. Any user can do that. Without
// the lock a second agent would not be noticed, so this one waits until the process ends.
var errForeignProcess = errors.New("a process of another user")

// ask asks the holder of a name for its identity. The connection ends with the
// lock.
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
		return "", nil, errors.Join(fmt.Errorf("%w: pid %d, user %d", errForeignProcess, cred.Pid, uid), conn.Close())
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
	if cred.Pid != 0 { // as seen by this process, if visible
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

// maxWaiting is the maximum number of connections that the holder keeps open; it
// sends its identity to others and closes them.
const maxWaiting = 64

// serve sends the identity of the holder to each client and keeps the
// connection open.
func (l *Lock) serve(me Identity) {
	line, err := json.Marshal(me)
	if err != nil {
		line = []byte("{}") // cannot happen: an Identity can be encoded
	}
	line = append(line, '\n')
	for {
		conn, err := l.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors
			time.Sleep(patience)
			continue
		}
		_ = conn.SetWriteDeadline(time.Now().Add(patience))
		if _, err := conn.Write(line); err != nil || !l.keep(conn) {
			_ = conn.Close()
			continue
		}
		l.answers.Go(func() {
			_, _ = io.Copy(io.Discard, conn) // until either end closes it
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

// Close releases the lock. It does nothing if the Lock is nil.
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
