package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// Create makes a new namespace and mounts it at path, compatible with
// ip-netns(8). A plain file at path, left over by an interrupted creation, is
// used.
func (k *Kernel) Create(path string) error {
	k.creating.Lock() // two mounts at one path would hide the first namespace
	defer k.creating.Unlock()
	if err := create(path); err != nil {
		return fmt.Errorf("create network namespace %s: %w", path, err)
	}
	return nil
}

// Named lists the names of the namespaces in a directory.
func (k *Kernel) Named(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list named network namespaces: %w", err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func create(path string) error {
	dir := filepath.Dir(path)
	if err := prepareDirectory(dir); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o444)
	if err != nil {
		return fileError(err)
	}
	exists := isNamespace(int(file.Fd()))
	file.Close()
	if exists {
		return netlinkapi.ErrExists
	}
	err = OnOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return enterError(err)
		}
		if err := unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount: %w", enterError(err))
		}
		return nil
	})
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// prepareDirectory makes the directory of named namespaces a mount point of its
// own that shares its mounts with other mount namespaces, so that a deletion is
// seen everywhere.
func prepareDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fileError(err)
	}
	err := unix.Mount("", dir, "", unix.MS_SHARED|unix.MS_REC, "")
	if errors.Is(err, unix.EINVAL) { // not a mount point yet
		if err = unix.Mount(dir, dir, "", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			err = unix.Mount("", dir, "", unix.MS_SHARED|unix.MS_REC, "")
		}
	}
	if err != nil {
		return fmt.Errorf("share mounts below %s: %w", dir, enterError(err))
	}
	return nil
}

func fileError(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return errors.Join(privilegeError{capSysAdmin}, err)
	}
	return err
}
