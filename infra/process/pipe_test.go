package process

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// The last words of a process are read although the time for them is over, and
// also while a daemon holds the pipe.
func TestLastWordsAreRead(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	infratest.Fatal(t, err)
	defer write.Close()
	words := strings.Repeat("why it ended\n", 1000)
	if _, err := write.WriteString(words); err != nil {
		t.Fatal(err)
	}
	infratest.Fatal(t, read.SetReadDeadline(time.Now().Add(-time.Second)))
	var got strings.Builder
	p := &pipe{read: read, done: make(chan struct{})}
	p.copy = func() { copyAll(&got, p, func(err error) { t.Error(err) }) }
	go func() {
		defer close(p.done)
		p.copy()
	}()
	p.drain()
	if got.String() != words {
		t.Errorf("%d bytes, want %d", got.Len(), len(words))
	}
	if _, err := read.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("the pipe is still open: %v", err)
	}
}
