package hosts

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/examples/tutorials/101_custom-agent/hosts/model"
)

// file is a file in the format of /etc/hosts; the interface is in the comment of
// each line ("10.1.0.2 red # interface loop1"). It implements descriptor.File.
type file struct {
	path string
	mu   sync.Mutex
}

// All returns the lines of the file; one that does not exist has none.
func (f *file) All() ([]*model.Host, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read()
}

func (f *file) read() ([]*model.Host, error) {
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read hosts: %w", err)
	}
	var hosts []*model.Host
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		entry, comment, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(entry)
		if len(words) != 2 {
			continue
		}
		iface := strings.TrimPrefix(strings.TrimSpace(comment), "interface ")
		hosts = append(hosts, &model.Host{Address: words[0], Name: words[1], Interface: iface})
	}
	return hosts, nil
}

// Set adds a name, or changes its address.
func (f *file) Set(name string, address netip.Addr, iface string) error {
	return f.replace(name, &model.Host{Name: name, Address: address.String(), Interface: iface})
}

// Remove removes a name.
func (f *file) Remove(name string) error { return f.replace(name, nil) }

// replace writes the file again, with another line for a name. Concurrent
// readers see the file before or after the change, never a part of it.
func (f *file) replace(name string, by *model.Host) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	hosts, err := f.read()
	if err != nil {
		return err
	}
	var text strings.Builder
	write := func(h *model.Host) { fmt.Fprintf(&text, "%s %s # interface %s\n", h.Address, h.Name, h.Interface) }
	for _, h := range hosts {
		if h.Name != name {
			write(h)
		}
	}
	if by != nil {
		write(by)
	}
	aside := f.path + ".new"
	if err := os.WriteFile(aside, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write hosts: %w", err)
	}
	if err := os.Rename(aside, f.path); err != nil {
		return fmt.Errorf("write hosts: %w", err)
	}
	return nil
}
