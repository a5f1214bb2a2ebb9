package vppsim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
)

// ErrUsage is returned for a control command that does not exist or lacks arguments.
var ErrUsage = errors.New("usage")

// ControlHelp lists the commands of Command, one per line.
const ControlHelp = `forget MESSAGE              not know a message and its reply
delay MESSAGE DURATION      hold up requests before they take effect; 0 ends it
drop MESSAGE [N]            swallow N requests (all without N)
mute MESSAGE [N]            let N requests take effect without a reply
fail MESSAGE RETVAL [N]     refuse N requests with a retval, such as -6
failafter MESSAGE RETVAL [N]  let N requests take effect and report an error
hangat MESSAGE|any N [late]  hang at the N-th request, before its effect or, late, before its reply
heal                        take back all of the above
hang                        stop processing
resume                      continue processing
disconnect                  break all connections, keep the state
die                         crash: refuse connections until restart
restart                     start again with an empty state
dump                        print the state
counts                      print how many requests of each name came
journal [N]                 print the last requests, those after number N
hung                        print whether processing has stopped
clients                     print the connected clients
pid                         print the reported process ID
help                        print this list`

// Command runs one control command in text form and returns what it prints.
// ControlHelp lists the commands.
func (v *VPP) Command(line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", nil
	}
	name, args := words[0], words[1:]
	switch name {
	case "dump":
		return v.Dump(), nil
	case "counts":
		return v.countsText(), nil
	case "journal":
		return v.journalText(args)
	case "hung":
		return fmt.Sprintln(v.Hung()), nil
	case "clients":
		return fmt.Sprintln(v.Clients()), nil
	case "pid":
		return fmt.Sprintln(v.PID()), nil
	case "help":
		return ControlHelp + "\n", nil
	}
	return "", v.change(name, args)
}

// change runs the commands that print nothing.
func (v *VPP) change(name string, args []string) error {
	switch name {
	case "heal":
		v.Heal()
	case "hang":
		v.Hang()
	case "resume":
		v.Resume()
	case "disconnect":
		v.Disconnect()
	case "die":
		return v.Die()
	case "restart":
		return v.Restart()
	default:
		return v.fault(name, args)
	}
	return nil
}

// fault runs the commands about one message.
func (v *VPP) fault(name string, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s: unknown command or message missing (see help): %w", name, ErrUsage)
	}
	message, args := args[0], args[1:]
	switch name {
	case "forget":
		return v.Forget(message)
	case "delay":
		if len(args) == 0 {
			return fmt.Errorf("delay %s: duration missing: %w", message, ErrUsage)
		}
		d, err := time.ParseDuration(args[0])
		if err != nil {
			return fmt.Errorf("delay %s: %w", message, err)
		}
		return v.Delay(message, d)
	case "hangat":
		return v.hangAt(message, args)
	case "drop", "mute":
		n, err := count(args)
		if err != nil {
			return fmt.Errorf("%s %s: %w", name, message, err)
		}
		if name == "drop" {
			return v.Drop(message, n)
		}
		return v.Mute(message, n)
	case "fail", "failafter":
		if len(args) == 0 {
			return fmt.Errorf("%s %s: retval missing: %w", name, message, ErrUsage)
		}
		retval, err := strconv.ParseInt(args[0], 10, 32)
		if err != nil {
			return fmt.Errorf("%s %s: retval: %w", name, message, err)
		}
		n, err := count(args[1:])
		if err != nil {
			return fmt.Errorf("%s %s: %w", name, message, err)
		}
		if name == "fail" {
			return v.Fail(message, api.VPPApiError(retval), n)
		}
		return v.FailAfter(message, api.VPPApiError(retval), n)
	}
	return fmt.Errorf("%s: unknown command (see help): %w", name, ErrUsage)
}

// hangAt reads which request to hang at.
func (v *VPP) hangAt(message string, args []string) error {
	if len(args) == 0 || len(args) > 2 || len(args) == 2 && args[1] != "late" {
		return fmt.Errorf("hangat %s: expected the number of the request, and perhaps the word late: %w", message, ErrUsage)
	}
	n, err := count(args)
	if err != nil || n < 0 {
		return fmt.Errorf("hangat %s: number of the request: %q, expected 0 or more: %w", message, args[0], ErrUsage)
	}
	if message == "any" {
		message = ""
	}
	return v.HangAt(message, n, len(args) == 2)
}

// count reads the optional number of requests; without it all are meant.
func count(args []string) (int, error) {
	if len(args) == 0 {
		return -1, nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 0, fmt.Errorf("number of requests: %w", err)
	}
	return n, nil
}

func (v *VPP) countsText() string {
	var b strings.Builder
	counts := v.Counts()
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s %d\n", name, counts[name])
	}
	return b.String()
}

// journalText prints the last requests, with a number those after it.
func (v *VPP) journalText(args []string) (string, error) {
	seen := uint64(0)
	if len(args) > 0 {
		var err error
		if seen, err = strconv.ParseUint(args[0], 10, 64); err != nil || len(args) > 1 {
			return "", fmt.Errorf("journal %s: expected at most the number of a request: %w", strings.Join(args, " "), ErrUsage)
		}
	}
	var b strings.Builder
	for _, r := range v.server.JournalAfter(seen) {
		fmt.Fprintf(&b, "%d client %#x context %#x %s %+v\n", r.Seq, r.Client, r.Context, r.Name, r.Message)
	}
	return b.String(), nil
}

// Control reads commands from in, one per line, until it ends, and writes what they
// print to out, errors as lines that begin with "error: ". A line with a single dot
// follows each answer if dots is set, so that a program can see where it ends.
func (v *VPP) Control(in io.Reader, out io.Writer, dots bool) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		text, err := v.Command(lines.Text())
		if err != nil {
			text += "error: " + err.Error() + "\n"
		}
		if dots {
			text += ".\n"
		}
		if _, err := io.WriteString(out, text); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read commands: %w", err)
	}
	return nil
}

// ListenControl listens on a unix socket for ServeControl. The file goes when the
// listener closes; one left behind by a dead process is replaced.
func ListenControl(path string) (net.Listener, error) {
	ln, err := wire.OpenUnix(path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	ln.SetUnlinkOnClose(true)
	return ln, nil
}

// ServeControl accepts connections from ln and runs the commands that come over
// them, until ln is closed; then it ends the connections and returns.
func (v *VPP) ServeControl(ln net.Listener) error {
	var (
		mu    sync.Mutex
		open  = make(map[net.Conn]struct{})
		users sync.WaitGroup
	)
	defer func() {
		mu.Lock()
		for conn := range open {
			_ = conn.Close() // nothing to be done about it
		}
		mu.Unlock()
		users.Wait()
	}()
	for {
		conn, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept on the control socket: %w", err)
		}
		mu.Lock()
		open[conn] = struct{}{}
		mu.Unlock()
		users.Go(func() {
			_ = v.Control(conn, conn, true) // the user hung up
			mu.Lock()
			defer mu.Unlock()
			delete(open, conn)
			_ = conn.Close()
		})
	}
}
