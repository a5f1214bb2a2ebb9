package process

import (
	"bufio"
	"io"
	"strings"
)

// maxLine is how many bytes of a line are logged as one entry.
const maxLine = 8 << 10

// copyLines hands on line by line what is read, until that ends. Longer lines are
// cut in pieces.
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

// copyAll copies until the reader ends. What cannot be written is dropped, so that
// the process does not stand still; lost is called when that begins.
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
