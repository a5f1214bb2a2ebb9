package process

import (
	"bufio"
	"io"
	"strings"
)

// maxLine is the maximum size of a log entry, in bytes.
const maxLine = 8 << 10

// copyLines passes the input to line, line by line. It splits long lines.
func copyLines(from io.Reader, line func(string)) {
	in := bufio.NewReaderSize(from, maxLine)
	for {
		text, err := in.ReadSlice('\n')
		if len(text) > 0 {
			line(strings.TrimRight(string(text), "\r\n"))
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// copyAll copies until the reader ends. If writing fails, it drops the output, so
// that the process does not block, and calls lost once.
func copyAll(to io.Writer, from io.Reader, lost func(error)) {
	buf := make([]byte, 32<<10)
	losing := false
	for {
		n, err := from.Read(buf)
		if n > 0 {
			_, werr := to.Write(buf[:n])
			if werr != nil && !losing {
				lost(werr)
			}
			losing = werr != nil
		}
		if err != nil {
			return
		}
	}
}
