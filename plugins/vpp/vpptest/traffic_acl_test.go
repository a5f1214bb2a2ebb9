package vpptest_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
)

// echo is a rule for ICMP between two networks.
func echo(action acl.ACL_Rule_Action, source, destination string) *acl.ACL_Rule {
	return &acl.ACL_Rule{Action: action, IpRule: &acl.ACL_Rule_IpRule{
		Ip: &acl.ACL_Rule_IpRule_Ip{SourceNetwork: source, DestinationNetwork: destination}, Icmp: &acl.ACL_Rule_IpRule_Icmp{},
	}}
}

// flood pings an address many times a second; the result waits for the end.
func (s *station) flood(address string, packets int) (wait func() (sent, answered int)) {
	s.t.Helper()
	out := make(chan string, 1)
	go func() {
		text, err := exec.Command("ip", "netns", "exec", s.ns, "ping", "-q", "-i", "0.002", "-c", fmt.Sprint(packets), "-W", "1", address).CombinedOutput()
		out <- fmt.Sprintf("%s%v", text, err)
	}()
	return func() (sent, answered int) {
		s.t.Helper()
		text := <-out
		for line := range strings.SplitSeq(text, "\n") {
			if n, _ := fmt.Sscanf(line, "%d packets transmitted, %d received", &sent, &answered); n == 2 {
				return sent, answered
			}
		}
		s.t.Fatalf("ping says\n%s", text)
		return 0, 0
	}
}

// Lists permit, deny and reflect. Replacing the 10,000 rules of a list under traffic loses no
// packet that both the old rules and the new ones permit, and lets none through that they deny.
func TestTrafficACL(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t), vpptest.Quiet())
	red, blue := plug(t, b, "r", "192.0.2.1/24"), plug(t, b, "b", "198.51.100.1/24")
	red.via("192.0.2.254")
	blue.via("198.51.100.254")
	blue.ip("-n", blue.ns, "address", "add", "198.51.100.2/24", "dev", "eth0")
	b.Must(of(red.af("red", "192.0.2.254/24"), blue.af("blue", "198.51.100.254/24")))
	red.reaches("198.51.100.1")
	red.reaches("198.51.100.2")

	lists := make([]*acl.ACL, 2)
	for salt := range lists {
		lists[salt] = manyRules("red", 10_000, salt, "red")
		lists[salt].Rules = append(lists[salt].Rules, echo(acl.ACL_Rule_PERMIT, "192.0.2.1/32", "198.51.100.1/32"))
	}
	b.Must(of(lists[0]))
	red.reaches("198.51.100.1")
	red.cutFrom("198.51.100.2")
	const packets = 2000
	permitted, denied := red.flood("198.51.100.1", packets), red.flood("198.51.100.2", packets)
	replaced, done := 0, make(chan struct{})
	var sent, answered, leaked int
	go func() {
		defer close(done)
		sent, answered = permitted()
		_, leaked = denied()
	}()
	for over := false; !over; replaced++ {
		b.Must(of(lists[(replaced+1)%2]))
		select {
		case <-done:
			over = true
		default:
		}
	}
	t.Logf("the rules were replaced %d times; %d of %d permitted packets were answered, %d of the denied ones", replaced, answered, sent, leaked)
	if sent != packets || answered != sent || leaked != 0 || replaced < 2 {
		t.Errorf("%d of %d permitted packets were answered, and %d of those that are denied, while the rules were replaced %d times",
			answered, sent, leaked, replaced)
	}

	// What red sends may be answered, and blue may not begin.
	reflect := &acl.ACL{Name: "red", Rules: []*acl.ACL_Rule{echo(acl.ACL_Rule_REFLECT, "192.0.2.0/24", "")}, Interfaces: lists[0].Interfaces}
	deny := &acl.ACL{Name: "deny", Rules: []*acl.ACL_Rule{{IpRule: &acl.ACL_Rule_IpRule{}}}, Interfaces: &acl.ACL_Interfaces{Egress: []string{"red"}}}
	b.Must(of(deny))
	red.cutFrom("198.51.100.1")
	b.Must(of(reflect))
	red.reaches("198.51.100.1")
	blue.cutFrom("192.0.2.1")
	b.Must(deleted(of(reflect, deny)))
	blue.reaches("192.0.2.1")
	b.InSync()
}

// A list of MAC/IP rules lets through one host.
func TestTrafficMACIP(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t))
	red := plug(t, b, "r", "192.0.2.1/24")
	b.Must(of(red.af("red", "192.0.2.254/24")))
	red.reaches("192.0.2.254")
	list := &acl.ACL{
		Name: "hosts", Interfaces: &acl.ACL_Interfaces{Ingress: []string{"red"}}, Rules: []*acl.ACL_Rule{
			{Action: acl.ACL_Rule_PERMIT, MacipRule: &acl.ACL_Rule_MacIpRule{SourceAddress: "192.0.2.2", SourceAddressPrefix: 32}},
		},
	}
	b.Must(of(list))
	red.cutFrom("192.0.2.254")
	other := proto.CloneOf(list)
	other.Rules[0].MacipRule.SourceAddress = "192.0.2.1"
	b.Must(of(other))
	red.reaches("192.0.2.254")
	b.Must(of(list))
	red.cutFrom("192.0.2.254")
	b.Must(deleted(of(list)))
	red.reaches("192.0.2.254")
	b.InSync()
}

// A policy sends what its list permits to a next hop that no route leads to.
func TestTrafficABF(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t))
	red, blue := plug(t, b, "r", "192.0.2.1/24"), plug(t, b, "b", "198.51.100.1/24")
	red.via("192.0.2.254")
	blue.via("198.51.100.254")
	for _, address := range []string{"203.0.113.1/32", "203.0.113.2/32"} {
		blue.ip("-n", blue.ns, "address", "add", address, "dev", "lo")
	}
	blue.ip("-n", blue.ns, "link", "set", "lo", "up")
	b.Must(of(red.af("red", "192.0.2.254/24"), blue.af("blue", "198.51.100.254/24")))
	red.reaches("198.51.100.1")
	red.cutFrom("203.0.113.1")
	list := &acl.ACL{Name: "steered", Rules: []*acl.ACL_Rule{echo(acl.ACL_Rule_PERMIT, "", "203.0.113.1/32")}}
	policy := steers(1, "steered", "blue", "198.51.100.1", attachedTo("red", 0, false))
	b.Must(of(list, policy))
	red.reaches("203.0.113.1")
	red.cutFrom("203.0.113.2")
	red.reaches("198.51.100.1")
	b.Must(deleted(of(policy)))
	red.cutFrom("203.0.113.1")
	b.InSync()
}
