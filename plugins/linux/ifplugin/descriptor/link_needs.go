package descriptor

import (
	"context"

	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// needsKey is the key under which Former has what a type needs in the namespace of a value.
func (k declared) needsKey(v *interfaces.Interface) string {
	return ifmodel.SysctlKey.Key(k.needs, nsmodel.Text(v.GetNamespace()))
}

// setNeeds sets the parameter of the namespace that links of the type need. A kernel without the
// parameter does not have such links either.
func (k declared) setNeeds(h netlinkapi.Handle, v *interfaces.Interface) error {
	if k.needs == "" {
		return nil
	}
	all, err := h.Sysctls("", []string{k.needs})
	now, there := all[k.needs]
	if err != nil || !there {
		return err
	}
	k.Former.remember(k.needsKey(v), linkID{Namespace: h.Namespace()}, k.needs, now, 1)
	if now == 1 {
		return nil
	}
	return h.SetSysctl("", k.needs, 1)
}

// restoreNeeds makes the parameter what it was before, unless there are other links of the type. It
// stays as it is for those of other programs.
func (k declared) restoreNeeds(h netlinkapi.Handle, v *interfaces.Interface) error {
	if k.needs == "" {
		return nil
	}
	all, err := h.Links()
	if err != nil {
		return ignoreGone(err)
	}
	others := false
	for _, l := range all {
		if l.Params == nil || !k.fill(&interfaces.Interface{}, l.Params, "") {
			continue
		}
		if _, _, ours := k.parse(l.Alias); ours {
			return nil
		}
		others = true
	}
	former, known := k.Former.of(k.needsKey(v), linkID{Namespace: h.Namespace()})
	if known && former != 1 && !others {
		if err := h.SetSysctl("", k.needs, former); ignoreGone(err) != nil {
			return err
		}
	}
	k.Former.forget(k.needsKey(v))
	return nil
}

// release deletes the link.
func (k declared) release(ctx context.Context, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	if err := k.made.release(ctx, v, meta); err != nil || k.needs == "" {
		return err
	}
	h, err := k.Namespaces.Open(ctx, meta.Namespace)
	if netlinkapi.IsGone(err) {
		k.Former.forget(k.needsKey(v))
		return nil
	}
	if err != nil {
		return err
	}
	defer closeHandle(h)
	return k.restoreNeeds(h, v)
}
