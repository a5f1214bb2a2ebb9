package safeclose_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/safeclose"
)

type closer struct {
	err    error
	closed int
}

func (c *closer) Close() error {
	c.closed++
	return c.err
}

type silent struct{ closed int }

func (s *silent) Close() { s.closed++ }

func TestCloseAll(t *testing.T) {
	t.Parallel()
	good, bad, quiet := &closer{}, &closer{err: errors.New("broken")}, &silent{}
	ch, twice := make(chan int), make(chan string)
	close(twice)
	var receive <-chan int = make(chan int)
	var file *os.File
	err := safeclose.CloseAll(nil, file, (chan int)(nil), bad, twice, 7, receive, good, quiet, ch)
	if good.closed != 1 || bad.closed != 1 || quiet.closed != 1 {
		t.Errorf("closed %d, %d and %d times, expected each once", good.closed, bad.closed, quiet.closed)
	}
	select {
	case <-ch:
	default:
		t.Error("the channel is open")
	}
	for _, want := range []string{"broken", "close chan string: close of closed channel", "close int: expected", "close <-chan int: expected"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q in it", err, want)
		}
	}
	if !errors.Is(err, bad.err) || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("got %v, expected the four errors", err)
	}
	if err := safeclose.Close(nil); err != nil {
		t.Errorf("nil: %v", err)
	}
}
