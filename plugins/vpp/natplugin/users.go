package natplugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
)

// users collects what VPP has in a NAT when the agent has nothing in it: it is of other clients,
// and would go if the NAT was disabled.
type users struct {
	ctx  context.Context
	err  error
	what []string
}

// count adds the parts of a type, such as "addresses". A release without them has none.
func count[P any](u *users, what string, parts func() (*item.PartCalls[P], error)) {
	do, err := parts()
	if errors.Is(err, binding.ErrUnsupported) || u.err != nil || err == nil && do == nil {
		return
	}
	if err == nil {
		var all []P
		if all, err = do.List(u.ctx); err == nil {
			u.add(what, len(all))
		}
	}
	u.err = err
}

func (u *users) add(what string, n int) {
	if n > 0 {
		u.what = append(u.what, fmt.Sprintf("%s (%d)", what, n))
	}
}

// text names what was found: "addresses (2), mappings (1)"; empty for nothing.
func (u *users) text() (string, error) { return strings.Join(u.what, ", "), u.err }

// leftTo is the result of a Delete that leaves a NAT enabled for what others have in it; nil if they
// have nothing.
func leftTo(nat, others string) error {
	if others == "" {
		return nil
	}
	return kvs.Left(nat + " stays enabled, with its settings: other clients of VPP have " + others + " in it")
}
