package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// What stands for all links, and for later ones, in /proc/sys/net/*/conf.
const (
	allLinks   = "all"
	laterLinks = "default"
)

// parameterFile returns the file of a parameter of a link, or of the namespace if there is none.
func parameterFile(link, name string) (string, error) {
	version, file, ok := strings.Cut(name, ".")
	switch {
	case !ok || link == allLinks || link == laterLinks || strings.ContainsRune(link+file, '/'):
		return "", fmt.Errorf("parameter %s of link %q: %w", name, link, netlinkapi.ErrUnsupported)
	case link == "":
		return filepath.Join("/proc/sys/net", version, file), nil
	}
	return filepath.Join("/proc/sys/net", version, "conf", link, file), nil
}

// Sysctls reads parameters of a link.
func (h *handle) Sysctls(ctx context.Context, link string, names []string) (map[string]int, error) {
	return ask(ctx, h.lease, func() (map[string]int, error) { return h.ns.sysctls(link, names) })
}

func (ns *namespace) sysctls(link string, names []string) (map[string]int, error) {
	values := map[string]int{}
	err := errors.Join(ns.readOffloads(link, names, values), ns.readQueues(link, names, values), ns.readSpeed(link, names, values))
	if err != nil {
		return nil, err
	}
	if len(values) > 0 && len(values) == len(names) {
		return values, nil
	}
	err = ns.inside(func() error {
		for _, name := range names {
			file, err := parameterFile(link, name)
			if err != nil {
				continue // it has none
			}
			text, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("read parameter %s of link %q: %w", name, link, err)
			}
			if values[name], err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
				return fmt.Errorf("read parameter %s of link %q: %w", name, link, err)
			}
		}
		return nil
	})
	if err == nil && len(values) == 0 && link != "" {
		_, err = ns.linkByName(link)
	}
	return values, err
}

// SetSysctl writes a parameter of a link.
func (h *handle) SetSysctl(ctx context.Context, link, name string, value int) error {
	return h.call(ctx, func() error { return h.ns.setSysctl(link, name, value) })
}

func (ns *namespace) setSysctl(link, name string, value int) error {
	if offload, ok := netlinkapi.OffloadOf(name); ok {
		return ns.setOffload(link, offload, value != 0)
	}
	if slices.Contains(netlinkapi.QueueParameters(), name) {
		return ns.setQueues(link, name, value)
	}
	file, err := parameterFile(link, name)
	if err != nil {
		return err
	}
	op := fmt.Sprintf("set parameter %s of link %q to %d", name, link, value)
	err = ns.inside(func() error { return os.WriteFile(file, strconv.AppendInt(nil, int64(value), 10), 0) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := ns.linkByName(link); err != nil && link != "" {
			return err
		}
		return fmt.Errorf("%s: %w: there is no %s", op, netlinkapi.ErrUnsupported, file)
	case errors.Is(err, unix.EROFS):
		return fmt.Errorf("%s: %s cannot be written, because /proc/sys is read-only here", op, file)
	case err != nil && is(err, unix.EPERM, unix.EACCES):
		return fmt.Errorf("%s: %w", op, privilegeError{capNetAdmin})
	case err != nil:
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}
