package linuxtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// containerScript makes a root directory from the Debian of this host and starts a web server in
// it. The mounts belong to the mount namespace of the container, so they end with it.
const containerScript = `set -e
mkdir usr proc etc srv
mount --rbind -o ro /usr usr
for dir in bin sbin lib lib64; do ln -s usr/$dir $dir; done
mount -t proc proc proc
mount -t tmpfs tmpfs etc
echo "$1" >srv/index.html
exec chroot . /usr/bin/busybox sh -c 'echo ready; exec busybox httpd -f -p 80 -h /srv'`

// container is a process in namespaces of its own, with a root directory of its own.
type container struct {
	t   *testing.T
	cmd *exec.Cmd
}

// startContainer starts a container whose web server has a text.
func startContainer(t *testing.T, text string) *container {
	t.Helper()
	c := &container{t: t, cmd: exec.Command("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", containerScript, "sh", text)}
	c.cmd.Dir, c.cmd.Stderr = t.TempDir(), os.Stderr
	out, err := c.cmd.StdoutPipe()
	must(t, err)
	must(t, c.cmd.Start())
	t.Cleanup(c.stop)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the container did not start: %q, %v", line, err)
	}
	return c
}

// stop kills the container with all its processes.
func (c *container) stop() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill() // its child is killed with it
		_ = c.cmd.Wait()
	}
}

// listContainer writes the file of microservices; nil lists none.
func listContainer(t *testing.T, file string, c *container) {
	t.Helper()
	text := ""
	if c != nil {
		text = fmt.Sprintf("web: %d\n", c.cmd.Process.Pid) // in the network namespace of its child
	}
	must(t, os.WriteFile(file+".new", []byte(text), 0o600))
	must(t, os.Rename(file+".new", file))
}

// requests fetches the page of the container again and again until it is stopped.
type requests struct {
	got  chan string // the latest received request
	sent atomic.Int64
	stop func()
}

// requestPatience is how long one request may take; another one is sooner than the repetition of
// a packet that nothing received.
const requestPatience = 20 * time.Millisecond

func sendRequests(t *testing.T, h netlinkapi.Handle) *requests {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	r := &requests{got: make(chan string, 1), stop: func() { cancel(); <-done }}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			text := fetch(ctx, h)
			r.sent.Add(1)
			if text == "" {
				continue
			}
			select {
			case <-r.got: // an older one
			default:
			}
			r.got <- text
		}
	}()
	return r
}

// fetch returns the page, or "" if there is none.
func fetch(ctx context.Context, h netlinkapi.Handle) string {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	conn, err := h.Dial(ctx, "tcp", "10.1.0.2:80")
	if err != nil {
		return ""
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := errors.Join(conn.SetDeadline(deadline), errorOf(fmt.Fprint(conn, "GET /index.html HTTP/1.0\r\n\r\n"))); err != nil {
		return ""
	}
	answer, err := io.ReadAll(conn)
	_, text, _ := strings.Cut(string(answer), "\r\n\r\n")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

func errorOf(_ int, err error) error { return err }

// await waits until the container answers with a text.
func (r *requests) await(text string) {
	for got := range r.got {
		if got == text {
			return
		}
	}
}

// TestContainer: a container with a root of Debian, which the file of microservices lists, has its
// interface, routes and rules again whenever it restarts, while others send requests to it. How
// long that takes is logged.
func TestContainer(t *testing.T) {
	for _, program := range []string{"unshare", "busybox", "chroot"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: no container is started: %v (make deps)", err)
		}
	}
	w, file := nltest.Kernel(t), filepath.Join(t.TempDir(), "microservices.yaml")
	a := linuxtest.StartWithFile(t, w, file)
	items := containerItems()
	must(t, a.Apply(items...))
	a.Expect(kvscheduler.ValueState_PENDING, items...)
	traffic := sendRequests(t, w.Open(t, ""))
	defer traffic.stop()

	var keys []string
	for _, v := range items {
		keys = append(keys, linuxtest.Key(t, v))
	}
	const restarts = 5
	for i := range restarts {
		c := startContainer(t, fmt.Sprint("container ", i))
		known := time.Now()
		listContainer(t, file, c)
		must(t, a.WaitFor(t.Context(), api.WaitRequest{Keys: keys}))
		again := time.Since(known)
		traffic.await(fmt.Sprint("container ", i))
		t.Logf("start %d: configured %s after the namespace was known, reached after %s, %d requests so far",
			i, again.Round(time.Millisecond), time.Since(known).Round(time.Millisecond), traffic.sent.Load())
		a.Expect(configured, items...)
		c.stop()
		listContainer(t, file, nil)
		a.Quiet("the items wait", func() bool {
			return !slices.ContainsFunc(keys, func(key string) bool { return a.State(key).GetState() != kvscheduler.ValueState_PENDING })
		})
	}
	must(t, a.Delete(items...))
	links, err := w.Open(t, "").Links(t.Context())
	must(t, err)
	if len(links) != 1 {
		t.Errorf("links are %+v, expected lo alone", links)
	}
}

// containerItems are the network of a container.
func containerItems() []proto.Message {
	web := &namespace.NetNamespace{Type: namespace.NetNamespace_MICROSERVICE, Reference: "web"}
	veth := func(name, peer, addr string, ns *namespace.NetNamespace) *interfaces.Interface {
		return &interfaces.Interface{Name: name, Type: interfaces.Interface_VETH, Namespace: ns, Enabled: true, IpAddresses: []string{addr},
			Link: &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: peer}}}
	}
	return []proto.Message{
		veth("host", "eth0", "10.1.0.1/24", nil), veth("eth0", "host", "10.1.0.2/24", web),
		&l3.Route{OutgoingInterface: "eth0", DstNetwork: "0.0.0.0/0", GwAddr: "10.1.0.1", Scope: l3.Route_GLOBAL},
		&l3.Rule{Name: "r", Namespace: web, Priority: 100, SrcNetwork: "10.9.0.0/16", Table: 77},
		&iptables.RuleChain{Name: "in", Namespace: web, ChainType: iptables.RuleChain_INPUT, DefaultPolicy: iptables.RuleChain_DROP,
			Rules: []string{"-p tcp -m tcp --dport 80 -j ACCEPT"}},
	}
}
