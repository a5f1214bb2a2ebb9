package ikev2plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	ikev2api "go.fd.io/govpp/binapi/ikev2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ikev2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	ikev2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ikev2"
)

// Names of the descriptors.
const (
	GlobalName  = "vpp-ikev2-global"
	ProfileName = "vpp-ikev2-profile"
	StateName   = "vpp-ikev2-profile-state"
)

var globals = session.Require("IKEv2 settings", vppPlugin, &ikev2api.Ikev2ProfileSetLiveness{}, &ikev2api.Ikev2ProfileSetLivenessReply{},
	&ikev2api.Ikev2SetLocalKey{}, &ikev2api.Ikev2SetLocalKeyReply{})

var intervals = session.Step("IKEv2 settings: process interval", session.Variant(struct{}{},
	&ikev2api.Ikev2PluginSetSleepInterval{}, &ikev2api.Ikev2PluginSetSleepIntervalReply{}))

// vppPlugin is the plugin of VPP that has IKEv2.
const vppPlugin = "ikev2"

// maxPath is the longest path of a file that VPP takes in a message, in bytes.
const maxPath = 255

// settings apply to all profiles.
type settings struct {
	period, retries uint32
	interval        uint32 // milliseconds
	keyFile         string
}

// defaults are what a VPP has that was just started.
var defaults = settings{period: 30, retries: 3, interval: 2000}

// NewGlobal describes the settings, which VPP does not report. A private key is exchanged after the
// profiles that use it are gone: VPP forgets the old one if it cannot read the new one.
func NewGlobal(vpp *session.VPP) *kvs.KVDescriptor {
	d := item.NewSingleton(vpp, item.Singleton[*ikev2.Global, settings]{
		Name: GlobalName, Model: model.GlobalModel,
		Resolve: func(r *item.Resolver, v *ikev2.Global) settings {
			if n := len(v.GetLocalKeyFile()); n > maxPath {
				r.Fail("local_key_file", "%d bytes, expected at most %d", n, maxPath)
			}
			return settings{
				period: cmp.Or(v.GetLivenessPeriod(), defaults.period), retries: cmp.Or(v.GetLivenessMaxRetries(), defaults.retries),
				interval: cmp.Or(v.GetProcessInterval(), defaults.interval), keyFile: v.GetLocalKeyFile(),
			}
		},
		Set: func(ctx context.Context, old, s *settings) error {
			return setGlobal(ctx, vpp, cmp.Or(old, &defaults), cmp.Or(s, &defaults))
		},
		Recreate: func(old, s settings) bool { return old.keyFile != s.keyFile },
	})
	d.DerivedValues = func(_ string, v proto.Message) []kvs.KeyValuePair {
		if v.(*ikev2.Global).GetLocalKeyFile() == "" {
			return nil
		}
		return []kvs.KeyValuePair{{Key: model.LocalKeyKey, Value: &emptypb.Empty{}}}
	}
	return d
}

func setGlobal(ctx context.Context, vpp *session.VPP, old, s *settings) error {
	if err := globals.Check(vpp); err != nil {
		return err
	}
	if old.interval != s.interval {
		if err := intervals.Check(vpp); err != nil {
			return fmt.Errorf("process_interval: %w", err)
		}
		request := &ikev2api.Ikev2PluginSetSleepInterval{Timeout: float64(s.interval) / 1000}
		if err := vpp.Call(ctx, request, &ikev2api.Ikev2PluginSetSleepIntervalReply{}); err != nil {
			return err
		}
	}
	liveness := &ikev2api.Ikev2ProfileSetLiveness{Period: s.period, MaxRetries: s.retries}
	if err := vpp.Call(ctx, liveness, &ikev2api.Ikev2ProfileSetLivenessReply{}); err != nil {
		return err
	}
	if s.keyFile == "" || old.keyFile == s.keyFile {
		return nil
	}
	err := vpp.Call(ctx, &ikev2api.Ikev2SetLocalKey{KeyFile: s.keyFile}, &ikev2api.Ikev2SetLocalKeyReply{})
	if errors.Is(err, api.UNSPECIFIED) {
		err = fmt.Errorf("local_key_file: VPP cannot read a private key from %q: %w", s.keyFile, err)
	}
	return err
}
