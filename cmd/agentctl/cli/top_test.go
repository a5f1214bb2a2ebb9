package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// openTerminal opens a pseudoterminal: what is written to user is typed, and what programs on tty
// print is read from user.
func openTerminal(t *testing.T, rows, columns uint16) (user, tty *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	infratest.Fatal(t, err)
	t.Cleanup(func() { _ = user.Close() })
	fd := int(user.Fd())
	infratest.Fatal(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	infratest.Fatal(t, err)
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	infratest.Fatal(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
	return user, tty
}

const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	drawScreen  = "\x1b[H"
)

// "top" draws the whole screen on a terminal until a key ends it, and leaves the terminal as it
// was.
func TestTopOnTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	infratest.Fatal(t, infratest.Programs(t.Context(), dir, "agentctl"))
	program := filepath.Join(dir, "agentctl")
	host, port := simulated(t)
	file := write(t, "net.yaml", "vppConfig:\n  interfaces:\n  - {name: loop1, type: SOFTWARE_LOOPBACK}\n"+
		"  routes:\n  - {dst_network: 10.0.0.0/8, outgoing_interface: missing}\n")
	for _, args := range [][]string{{"config", "update", file}, {"wait", "config/vpp/v2/interfaces/loop1"}} { // VPP may connect later
		if r := run(t, nil, append([]string{"--host", host, "--http-port", port}, args...)...); r.code != 0 {
			t.Fatalf("%v: exit %d: %s%s", args, r.code, r.out, r.err)
		}
	}
	top := []string{program, "--host", host, "--http-port", port, "top", "--interval", "100ms"}
	for name, key := range map[string]string{"q": "q", "Q": "Q", "interrupt": "\x03", "escape": "\x1b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := playTop(t, 60, top, key)
			frames := strings.Split(strings.TrimSuffix(strings.TrimPrefix(all, enterScreen), leaveScreen), drawScreen)
			first := regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`).ReplaceAllString(frames[1], "")
			for _, want := range []string{
				`^\S+ \S+  \S+  up \S+  \d\d:\d\d:\d\d UTC\r\n\r\nVALUES\r\n`, `\b1 CONFIGURED, 1 PENDING\r\n`,
				`PENDING vpp\.route/.*10\.0\.0\.0/8.*: waits for\s+vpp\.interfaces/missing \(interface-exists\)\r\n`, `\r\nOPERATIONS\r\n +Waiting: +nothing\r\n`,
				`\r\nCOUNTERS\r\n +[\d,]+ +[\d,]+/s  \w+`,
			} {
				if !regexp.MustCompile(want).MatchString(first) {
					t.Errorf("the first screen does not match %q:\n%s", want, first)
				}
			}
		})
	}
	t.Run("a low terminal", func(t *testing.T) {
		t.Parallel()
		const rows = 7
		for _, frame := range strings.Split(playTop(t, rows, top, "q"), drawScreen)[1:] {
			if lines := strings.Count(frame, "\n") + 1; lines > rows {
				t.Errorf("a screen of %d lines on a terminal of %d:\n%q", lines, rows, frame)
			}
		}
	})
}

// playTop runs "top" on a terminal, presses a key after the second screen, and returns
// everything that was drawn.
func playTop(t *testing.T, rows uint16, command []string, key string) string {
	t.Helper()
	user, tty := openTerminal(t, rows, 80)
	before, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	infratest.Fatal(t, err)
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.Env = []string{"TERM=xterm", "HOME=" + t.TempDir()}
	infratest.Fatal(t, cmd.Start())
	ended := make(chan error, 1)
	var after *unix.Termios
	go func() {
		err := cmd.Wait()
		after, _ = unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
		_ = tty.Close() // the last one: reading ends
		ended <- err
	}()
	var all strings.Builder
	buffer := make([]byte, 4096)
	pressed := false
	for {
		n, err := user.Read(buffer)
		if err != nil {
			break
		}
		all.Write(buffer[:n])
		if !pressed && strings.Count(all.String(), drawScreen) >= 2 {
			pressed = true
			if _, err := user.WriteString(key); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("the exit of top: %v", err)
	}
	if !strings.HasSuffix(all.String(), leaveScreen) {
		t.Fatalf("top does not end with the former screen: %q", all.String())
	}
	if after == nil || *after != *before {
		t.Errorf("the settings of the terminal were %v and are %v", before, after)
	}
	if !strings.HasPrefix(all.String(), enterScreen) {
		t.Errorf("top does not begin with another screen: %q", all.String())
	}
	return all.String()
}
