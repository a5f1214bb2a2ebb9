// Package kernel implements netlinkapi on the Linux kernel.
//
// Every namespace has netlink sockets of its own, made once on a short-lived
// thread; from then on no thread changes its namespace. The sockets are cached
// by the identity of the namespace (not by its name, which may come to mean
// another namespace) and closed when unused for a while, because an open
// socket keeps a deleted namespace alive.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

const (
	ownNamespace = "/proc/self/ns/net"
	// idleTime is how long an unused namespace is kept open.
	idleTime = time.Second
	// replyTimeout bounds the waiting for the kernel's reply to one request.
	replyTimeout = 20 * time.Second
)

// Option changes what New makes.
type Option func(*Kernel)

// OwnNamespace makes the empty path mean the namespace at path rather than the
// one of the process.
func OwnNamespace(path string) Option { return func(k *Kernel) { k.own = path } }

// Kernel opens namespaces of the running kernel. Run and Close it.
type Kernel struct {
	own string

	mu     sync.Mutex
	open   map[netlinkapi.NamespaceID]*namespace
	idle   chan struct{} // signalled when a namespace became unused
	closed bool

	programs *programs
	creating sync.Mutex // see Create
}

var _ netlinkapi.Namespaces = (*Kernel)(nil)

// namespace is the cached part of all handles on one namespace.
type namespace struct {
	id     netlinkapi.NamespaceID
	file   *os.File         // stands for the namespace
	route  *netlink.Handle  // its netlink sockets
	dumps  *nl.SocketHandle // has dumps of routes filtered by the kernel, where it can
	links  *nl.SocketHandle // for requests that the library lacks
	buffer []byte           // for replies on links, under its lock; nil: not used yet
	ioctl  int              // a socket for ethtool requests
	leases int              // open handles
	unused time.Time        // when leases became 0
}

// New returns access to the kernel. Nothing is opened yet.
func New(opts ...Option) *Kernel {
	k := &Kernel{
		own:  ownNamespace,
		open: map[netlinkapi.NamespaceID]*namespace{},
		idle: make(chan struct{}, 1),

		programs: newPrograms(),
	}
	for _, o := range opts {
		o(k)
	}
	return k
}

// Open returns a handle on the namespace at path; see netlinkapi.Namespaces.
func (k *Kernel) Open(path string, gate netlinkapi.Gate) (netlinkapi.Handle, error) {
	if path == "" {
		path = k.own
	}
	file, id, err := openFile(path)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		file.Close()
		return nil, fmt.Errorf("open network namespace %s: %w", path, fs.ErrClosed)
	}
	ns := k.open[id]
	if ns != nil {
		file.Close()
	} else if ns, err = openNamespace(file, id); err != nil {
		return nil, err
	} else {
		k.open[id] = ns
	}
	ns.leases++
	l := &lease{ns: ns, gate: gate}
	return &handle{lease: l, k: k, sockets: sockets{l}, nexthops: nexthops{l}, neighbours: neighbours{l}}, nil
}

func openFile(path string) (*os.File, netlinkapi.NamespaceID, error) {
	none := netlinkapi.NamespaceID{}
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, none, fmt.Errorf("open network namespace %s: %w", path, privilegeError{"needs CAP_SYS_PTRACE for a namespace of another user"})
	case errors.Is(err, fs.ErrNotExist):
		return nil, none, fmt.Errorf("open network namespace %s: %w", path, netlinkapi.ErrNamespaceGone)
	case err != nil:
		return nil, none, fmt.Errorf("open network namespace: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		file.Close()
		return nil, none, fmt.Errorf("identify network namespace %s: %w", path, err)
	}
	if !isNamespace(int(file.Fd())) {
		file.Close()
		return nil, none, fmt.Errorf("open network namespace %s: %w (the file does not stand for one)", path, netlinkapi.ErrNamespaceGone)
	}
	return file, netlinkapi.NamespaceID{Dev: uint64(st.Dev), Ino: st.Ino}, nil
}

// isNamespace reports whether the open file stands for a namespace.
func isNamespace(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && int64(fs.Type) == unix.NSFS_MAGIC
}

// openNamespace opens the sockets; it owns the file from now on.
func openNamespace(file *os.File, id netlinkapi.NamespaceID) (*namespace, error) {
	ns := &namespace{id: id, file: file, ioctl: -1}
	open := func() (err error) {
		if ns.route, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
			return classify("open netlink socket", err)
		}
		if ns.dumps, err = newSocket(); err != nil {
			return err
		}
		// A kernel before 4.20 does not filter.
		_ = unix.SetsockoptInt(ns.dumps.Socket.GetFd(), unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1)
		if ns.links, err = newSocket(); err != nil {
			return err
		}
		ns.ioctl, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		return classify("open socket for ethtool", err)
	}
	var err error
	if current(id) { // needs no privileges
		err = OnOwnThread(open)
	} else {
		err = inNamespace(file, open)
	}
	if err == nil {
		timeout := unix.NsecToTimeval(replyTimeout.Nanoseconds())
		err = errors.Join(ns.route.SetSocketTimeout(replyTimeout), ns.dumps.Socket.SetReceiveTimeout(&timeout),
			ns.links.Socket.SetReceiveTimeout(&timeout))
	}
	if err != nil {
		ns.close()
		return nil, err
	}
	return ns, nil
}

func newSocket() (*nl.SocketHandle, error) {
	socket, err := nl.Subscribe(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, classify("open netlink socket", err)
	}
	return &nl.SocketHandle{Socket: socket}, nil
}

// current reports whether the namespace is the one of the process.
func current(id netlinkapi.NamespaceID) bool {
	var st unix.Stat_t
	return unix.Stat(ownNamespace, &st) == nil && uint64(st.Dev) == id.Dev && st.Ino == id.Ino
}

func (ns *namespace) close() {
	if ns.route != nil {
		ns.route.Close()
	}
	if ns.dumps != nil {
		ns.dumps.Close()
	}
	if ns.links != nil {
		ns.links.Close()
	}
	if ns.ioctl >= 0 {
		unix.Close(ns.ioctl)
	}
	ns.file.Close()
}

func (k *Kernel) release(ns *namespace) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ns.leases--; ns.leases > 0 {
		return
	}
	if k.closed {
		delete(k.open, ns.id)
		ns.close()
		return
	}
	ns.unused = time.Now()
	select {
	case k.idle <- struct{}{}:
	default:
	}
}

// Run closes namespaces that have not been used for a second, until the
// context ends.
func (k *Kernel) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.idle:
		}
		for k.sweep(idleTime) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(idleTime):
			}
		}
	}
}

// sweep closes handles that have been unused for at least the given time; more
// reports whether unused ones remain.
func (k *Kernel) sweep(age time.Duration) (more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, ns := range k.open {
		switch {
		case ns.leases > 0:
		case time.Since(ns.unused) >= age:
			delete(k.open, id)
			ns.close()
		default:
			more = true
		}
	}
	return more
}

// Forget closes the namespaces that are not in use right now, so that those
// deleted meanwhile end.
func (k *Kernel) Forget() { k.sweep(0) }

// Close closes all unused namespaces now and the others when their handles are
// closed. Open fails from now on.
func (k *Kernel) Close() error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.sweep(0)
	return nil
}
