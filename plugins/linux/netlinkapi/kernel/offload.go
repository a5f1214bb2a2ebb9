package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtool requests, from linux/ethtool.h.
const (
	ethtoolGetRXChecksum = 0x14
	ethtoolSetRXChecksum = 0x15
	ethtoolGetTXChecksum = 0x16
	ethtoolSetTXChecksum = 0x17
)

// ethtoolValue is struct ethtool_value.
type ethtoolValue struct{ command, data uint32 }

// ifreqData is struct ifreq with a pointer in its union.
type ifreqData struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [24 - unsafe.Sizeof(uintptr(0))]byte
}

func (ns *namespace) ethtool(link string, command, data uint32) (uint32, error) {
	value := &ethtoolValue{command, data}
	err := ns.ethtoolRequest(link, unsafe.Pointer(value))
	return value.data, err
}

// ethtoolRequest makes a request about a link, which is a structure that the kernel fills in.
func (ns *namespace) ethtoolRequest(link string, data unsafe.Pointer) error {
	request := ifreqData{data: data}
	copy(request.name[:unix.IFNAMSIZ-1], link)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(ns.ioctl), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	runtime.KeepAlive(data)
	if errno != 0 {
		return errno
	}
	return nil
}

func number(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// writeSysctl writes a kernel parameter of the namespace; /proc/sys shows the
// parameters of the namespace of the thread that opens it.
func (ns *namespace) writeSysctl(value string, path ...string) error {
	file := filepath.Join(append([]string{"/proc/sys"}, path...)...)
	return ns.inside(func() error {
		if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
			return fmt.Errorf("set kernel parameter: %w", err)
		}
		return nil
	})
}
