package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// drainTime is how long output is read after the end of a process, in case one of
// its children that left its process group still has the pipe open.
const drainTime = time.Second

// pipe carries output of a process.
type pipe struct {
	read, write *os.File
	copy        func()
	done        chan struct{}

	late bool // drainTime is over: only the present content of the pipe is read
	left int  // remaining bytes of it
}

// drain waits for the remaining output.
func (p *pipe) drain() {
	_ = p.read.SetReadDeadline(time.Now().Add(drainTime))
	<-p.done
	_ = p.read.Close()
}

// Read reads output. When drainTime is over, it still reads what was written
// before: on a busy machine it may not have been read in time.
func (p *pipe) Read(buf []byte) (int, error) {
	if !p.late {
		n, err := p.read.Read(buf)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if p.left, err = p.waiting(); err != nil {
			return 0, fmt.Errorf("remaining output: %w", err)
		}
		p.late = true
		_ = p.read.SetReadDeadline(time.Time{})
	}
	if p.left == 0 {
		return 0, io.EOF
	}
	n, err := p.read.Read(buf[:min(len(buf), p.left)])
	p.left -= n
	return n, err
}

// waiting returns how many bytes are in the pipe (FIONREAD, an alias of
// TIOCINQ).
func (p *pipe) waiting() (n int, err error) {
	conn, err := p.read.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := conn.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); cerr != nil {
		return 0, cerr
	}
	return n, err
}
