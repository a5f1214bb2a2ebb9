package descriptor

import (
	"context"
	"encoding/base32"
	"encoding/binary"
	"hash/fnv"
	"net/url"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// linkKind is what differs between the types of interfaces; one file each.
type linkKind interface {
	// check reports what is wrong with the fields of the type.
	check(v *interfaces.Interface) error
	// dependencies lists what the link needs besides its namespace.
	dependencies(v *interfaces.Interface) []api.Dependency
	// sameLink reports whether the link need not be made again.
	sameLink(a, b *interfaces.Interface) bool
	// acquire makes or finds the link, sets its alias and brings it into its
	// namespace, under its own name or a temporary one. If it fails, nothing new
	// remains.
	acquire(ctx context.Context, v *interfaces.Interface) (*place, error)
	// release gives up the link. A link that is gone is a success.
	release(ctx context.Context, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error
	// traits are constants of the type.
	traits() traits
	// recognise fills in the type and its fields from a link and the parts of
	// its alias behind the name; false if the link is of another type.
	recognise(v *interfaces.Interface, link netlinkapi.Link, parts []string) bool
}

// settler is a linkKind with settings that change in place, besides those that all types
// have.
type settler interface {
	// sameSettings reports whether b asks for other settings than a has.
	sameSettings(a, b *interfaces.Interface) bool
	// applySettings gives the link the settings of the value.
	applySettings(ctx context.Context, p *place, v *interfaces.Interface) error
}

// traits are the constants of a type of interfaces.
type traits struct {
	adopted bool   // another process made the link: it is not set down when configured first
	mtu     int    // what MTU 0 means; 0: whatever it is
	host    string // the only name there is; empty: any
	packets bool   // it carries packets rather than frames: it has no MAC address and is no port
	noPort  bool   // it cannot be a port of a bridge or bond
	follows bool   // its MAC address, and its MTU without a default, follow other links until they are set
}

// defaultMTU is the kernel's default of Ethernet links.
const defaultMTU = 1500

// owner knows what belongs to an agent.
type owner struct {
	label string
	// former: the predecessor has such links, too. Their aliases are in its form, so that
	// it finds them if it runs again.
	former bool
}

// formerPrefix is what the aliases of the predecessor's links begin with.
const formerPrefix = "/vnf-agent/"

// prefix is what the aliases of the agent's links begin with.
func (o owner) prefix() string { return url.PathEscape(o.label) + "/" }

// alias returns the alias of a link. What has a slash cannot be written in the form of
// the predecessor.
func (o owner) alias(name string, parts ...string) string {
	parts = append([]string{name}, parts...)
	slash := func(s string) bool { return strings.Contains(s, "/") }
	if o.former && !slash(o.label) && !slices.ContainsFunc(parts, slash) {
		return formerPrefix + o.label + "/" + strings.Join(parts, "/")
	}
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return o.prefix() + strings.Join(parts, "/")
}

// is reports whether an alias belongs to a link, in any form.
func (o owner) is(alias, name string, parts ...string) bool {
	gotName, gotParts, ours := o.parse(alias)
	return ours && gotName == name && slices.Equal(gotParts, parts)
}

// parse is the inverse of alias; ok is false if the link is not the agent's.
func (o owner) parse(alias string) (name string, parts []string, ok bool) {
	if rest, former := strings.CutPrefix(alias, formerPrefix+o.label+"/"); former && !strings.Contains(o.label, "/") {
		parts = strings.Split(rest, "/")
		return parts[0], parts[1:], parts[0] != ""
	}
	rest, ok := strings.CutPrefix(alias, o.prefix())
	if !ok || rest == "" {
		return "", nil, false
	}
	for i, escaped := range strings.Split(rest, "/") {
		p, err := url.PathUnescape(escaped)
		if err != nil {
			return "", nil, false
		}
		if i == 0 {
			name = p
		} else {
			parts = append(parts, p)
		}
	}
	return name, parts, name != ""
}

const (
	temporaryMark = "tmp-"
	ownerLength   = 4 // characters of a temporary name that identify the agent
)

// temporary is the name of a link until it gets its own. It identifies the agent,
// because a link has no alias when it is created.
func (o owner) temporary(name string) string {
	return o.temporaryPrefix() + digest(name, 6)
}

func (o owner) temporaryPrefix() string { return temporaryMark + digest(o.label, ownerLength) }

func digest(text string, length int) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], h.Sum64())
	return strings.ToLower(base32.HexEncoding.EncodeToString(sum[:])[:length])
}

// orphan reports whether the link was made by the agent, which was interrupted
// before it could set the alias.
func (o owner) orphan(l netlinkapi.Link) bool {
	return l.Alias == "" && l.Kind != "" && strings.HasPrefix(l.Name, o.temporaryPrefix())
}

// hostName is the name of the interface in the kernel.
func hostName(v *interfaces.Interface) string { return ifmodel.HostName(v) }
