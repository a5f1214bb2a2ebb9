package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/infra"
)

// OwnNamespaces removes, at the end of an agent with --cleanup-on-exit, the network
// namespaces that were created for its configuration. It records them in a file
// below /run, which lives as long as the namespaces do, so that a later agent with
// the same label removes the namespaces of a killed one. The agent locks the file,
// so that another one with the same label, for example one that cannot start
// because its port is in use, does not touch the namespaces.
//
// It is closed after the plugins that use namespaces.
type OwnNamespaces struct {
	OwnNamespacesDeps
	netns string // directory of named namespaces
	state string // directory of the file, without the label

	mu   sync.Mutex
	file string   // with our namespaces; empty before Init
	held *os.File // the file, locked; nil if it does not exist or belongs to another agent
}

// OwnNamespacesDeps is what OwnNamespaces needs.
type OwnNamespacesDeps struct {
	infra.PluginDeps
	Label Labeller
	// Wanted reports whether namespaces are to be removed; valid from Init on.
	Wanted func() bool
	// Held reports whether this agent ever held the networking of Linux. Otherwise
	// the namespaces belong to the agent that does.
	Held func() bool
}

// Labeller provides the label of the agent.
type Labeller interface{ GetAgentLabel() string }

const (
	// netnsDirectory is where ip-netns(8) keeps named namespaces.
	netnsDirectory = "/run/netns"
	stateDirectory = "/run/vpp-agent"
)

func newOwnNamespaces(label Labeller, wanted, held func() bool) *OwnNamespaces {
	o := &OwnNamespaces{netns: netnsDirectory, state: stateDirectory}
	o.SetName("own-namespaces")
	o.Label, o.Wanted, o.Held = label, wanted, held
	return o
}

// Init determines the paths, and takes over the namespaces of a killed agent.
func (o *OwnNamespaces) Init() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.file = filepath.Join(o.state, o.Label.GetAgentLabel(), "namespaces")
	if !o.Wanted() {
		return nil
	}
	if err := o.hold(os.O_RDWR); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.Log.Warn("ignoring the namespaces of a previous agent", "error", err)
	}
	return nil
}

// hold opens and locks the file.
func (o *OwnNamespaces) hold(flags int) error {
	if o.held != nil {
		return nil
	}
	f, err := os.OpenFile(o.file, flags|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("lock %s, in use by another agent with the same label: %w", o.file, err), f.Close())
	}
	o.held = f
	return nil
}

// created records a namespace that was created for the configuration.
func (o *OwnNamespaces) created(name string) {
	if !o.Wanted() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.note(name); err != nil {
		o.Log.Warn("cannot record a namespace for the clean-up", "name", name, "error", err)
	}
}

func (o *OwnNamespaces) note(name string) error {
	inode, err := inodeOf(filepath.Join(o.netns, name))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(o.file), 0o755)
	}
	if err != nil {
		return err
	}
	if err := o.hold(os.O_CREATE | os.O_RDWR); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.held, "%d %s\n", inode, name)
	return err
}

// Close removes the namespaces.
func (o *OwnNamespaces) Close() error {
	if !o.Wanted() {
		return nil
	}
	if err := o.removeNamespaces(); err != nil {
		return fmt.Errorf("remove network namespaces: %w", err)
	}
	return nil
}

func (o *OwnNamespaces) removeNamespaces() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		return nil
	}
	defer func() {
		_ = o.held.Close() // unlocks it
		o.held = nil
	}()
	if !o.Held() {
		return nil
	}
	text, err := os.ReadFile(o.file)
	if err != nil {
		return err
	}
	var errs []error
	for line := range strings.Lines(string(text)) {
		inode, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		path := filepath.Join(o.netns, filepath.Base(name))
		if now, err := inodeOf(path); err != nil || strconv.FormatUint(now, 10) != inode {
			continue // deleted, or replaced by another process
		}
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", path, err))
			continue
		}
		errs = append(errs, os.Remove(path))
		o.Log.Info("network namespace removed", "name", name)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	err = os.Remove(o.file)
	// The directory is removed with its last file.
	_ = os.Remove(filepath.Dir(o.file))
	_ = os.Remove(o.state)
	return err
}

// inodeOf returns the inode, which distinguishes namespaces that had the same
// name.
func inodeOf(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: no inode", path)
	}
	return stat.Ino, nil
}
