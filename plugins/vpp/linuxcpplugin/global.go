package linuxcpplugin

import (
	"context"
	"fmt"
	"strings"

	"go.fd.io/govpp/binapi/lcp"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	linuxcp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/linuxcp"
)

// Names of the descriptors.
const (
	GlobalName = "vpp-linuxcp-global"
	PairName   = "vpp-linuxcp-pair"
)

var globals = session.Require("LCP settings", "linux-cp", &lcp.LcpDefaultNsSet{}, &lcp.LcpDefaultNsSetReply{})

// settings are VPP's settings. The flags are in the order of switches.
type settings struct {
	namespace string
	flags     [5]bool
}

// switches are the settings that VPP has commands for and no messages. "show lcp" has a line of
// each that this VPP has: "lcp ", name, " on" or " off".
var switches = [5]struct{ field, name, command string }{
	{"sync", "lcp-sync", "lcp lcp-sync"},
	{"sync_unnumbered", "lcp-sync-unnumbered", "lcp lcp-sync-unnumbered"},
	{"auto_subinterfaces", "lcp-auto-subint", "lcp lcp-auto-subint"},
	{"delete_static_on_link_down", "del-static-on-link-down", "lcp param del-static-on-link-down"},
	{"delete_dynamic_on_link_down", "del-dynamic-on-link-down", "lcp param del-dynamic-on-link-down"},
}

// unnumbered is the index of sync_unnumbered, which VPP starts with if it has it
// (lcp_interface_init in src/plugins/linux-cp/lcp_interface.c of 26.06).
const unnumbered = 1

// initial are the settings of a VPP that has just started; has is as in read.
func initial(has [5]bool) (s settings) {
	s.flags[unnumbered] = has[unnumbered]
	return s
}

type global struct{ vpp *session.VPP }

// NewGlobal describes the settings. VPP uses the default namespace when it makes a pair, so that
// pairs are made again when it changes.
func NewGlobal(vpp *session.VPP) *kvs.KVDescriptor {
	d := global{vpp}
	return item.NewSingleton(vpp, item.Singleton[*linuxcp.Global, settings]{
		Name: GlobalName, Model: GlobalModel,
		Resolve: func(r *item.Resolver, v *linuxcp.Global) settings {
			checkNamespace(r, "default_namespace", v.GetDefaultNamespace())
			return settings{v.GetDefaultNamespace(), [5]bool{
				v.GetSync(), v.GetSyncUnnumbered(), v.GetAutoSubinterfaces(), v.GetDeleteStaticOnLinkDown(), v.GetDeleteDynamicOnLinkDown(),
			}}
		},
		Value: func(s settings) *linuxcp.Global {
			return &linuxcp.Global{
				DefaultNamespace: s.namespace, Sync: s.flags[0], SyncUnnumbered: s.flags[1], AutoSubinterfaces: s.flags[2],
				DeleteStaticOnLinkDown: s.flags[3], DeleteDynamicOnLinkDown: s.flags[4],
			}
		},
		Get: d.get,
		Set: d.set,
		Implicit: func(s settings) bool {
			return s == initial([5]bool{}) || s == initial([5]bool{unnumbered: true})
		},
		Recreate: func(old, s settings) bool { return old.namespace != s.namespace },
	})
}

func (d global) get(ctx context.Context) (*settings, error) {
	s, _, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// read returns the settings, and which of the switches this VPP has. The message that reports
// the namespace is not used: without one VPP answers with memory that it did not clear
// (vl_api_lcp_default_ns_get_t_handler in src/plugins/linux-cp/lcp_api.c, to 26.06 at least).
func (d global) read(ctx context.Context) (s settings, has [5]bool, err error) {
	if err := globals.Check(d.vpp); err != nil {
		return s, has, err
	}
	shown, err := d.vpp.Command(ctx, "show lcp")
	if err != nil {
		return s, has, err
	}
	for line := range strings.Lines(shown) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "lcp default netns "); found && text != "'<unset>'" {
			s.namespace = strings.Trim(text, "'")
		}
		for i, w := range switches {
			if state, found := strings.CutPrefix(strings.TrimSpace(line), "lcp "+w.name+" "); found {
				has[i], s.flags[i] = true, state == "on"
			}
		}
	}
	return s, has, nil
}

// set changes what differs; without a value VPP has what it starts with.
func (d global) set(ctx context.Context, _, wanted *settings) error {
	now, has, err := d.read(ctx)
	if err != nil {
		return err
	}
	if wanted == nil {
		start := initial(has)
		wanted = &start
	}
	for i, w := range switches {
		if wanted.flags[i] && !has[i] {
			return kvs.Unimplemented(fmt.Errorf("%s: this VPP has no command %q", w.field, w.command))
		}
	}
	if now.namespace != wanted.namespace {
		if err := d.vpp.Call(ctx, &lcp.LcpDefaultNsSet{Netns: wanted.namespace}, &lcp.LcpDefaultNsSetReply{}); err != nil {
			return err
		}
	}
	for i, w := range switches {
		if now.flags[i] == wanted.flags[i] {
			continue
		}
		state := " off"
		if wanted.flags[i] {
			state = " on"
		}
		answer, err := d.vpp.Command(ctx, w.command+state)
		if err != nil {
			return err
		}
		if answer = strings.TrimSpace(answer); answer != "" {
			return fmt.Errorf("%s: VPP answers %q to the command %q", w.field, answer, w.command+state)
		}
	}
	return nil
}
