package descriptor

import (
	"context"

	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// Some types of links need a parameter of their network namespace to be 1. The agent sets it with
// the first link of the type, and restores it with the last.

// namespaceSysctlKey is the key under which Former has the former value of the parameter.
func (k declared) namespaceSysctlKey(v *interfaces.Interface) string {
	return ifmodel.SysctlKey.Key(k.namespaceSysctl, nsmodel.Text(v.GetNamespace()))
}

// setNamespaceSysctl sets the parameter of the namespace that links of the type need. A kernel without the
// parameter does not have such links either.
func (k declared) setNamespaceSysctl(ctx context.Context, h netlinkapi.Handle, v *interfaces.Interface) error {
	if k.namespaceSysctl == "" {
		return nil
	}
	all, err := h.Sysctls(ctx, "", []string{k.namespaceSysctl})
	now, there := all[k.namespaceSysctl]
	if err != nil || !there {
		return err
	}
	k.Former.remember(k.namespaceSysctlKey(v), linkID{Namespace: h.Namespace()}, k.namespaceSysctl, now, 1)
	if now == 1 {
		return nil
	}
	return h.SetSysctl(ctx, "", k.namespaceSysctl, 1)
}

// restoreNamespaceSysctl makes the parameter what it was before, unless there are other links of the type.
// It stays as it is if the other links belong to other programs.
func (k declared) restoreNamespaceSysctl(ctx context.Context, h netlinkapi.Handle, v *interfaces.Interface) error {
	if k.namespaceSysctl == "" {
		return nil
	}
	all, err := h.Links(ctx)
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
	former, known := k.Former.of(k.namespaceSysctlKey(v), linkID{Namespace: h.Namespace()})
	if known && former != 1 && !others {
		if err := h.SetSysctl(ctx, "", k.namespaceSysctl, former); ignoreGone(err) != nil {
			return err
		}
	}
	k.Former.forget(k.namespaceSysctlKey(v))
	return nil
}

// release deletes the link.
func (k declared) release(ctx context.Context, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	if err := k.made.release(ctx, v, meta); err != nil || k.namespaceSysctl == "" {
		return err
	}
	h, err := k.Namespaces.Open(ctx, meta.Namespace)
	if netlinkapi.IsGone(err) {
		k.Former.forget(k.namespaceSysctlKey(v))
		return nil
	}
	if err != nil {
		return err
	}
	defer closeHandle(h)
	return k.restoreNamespaceSysctl(ctx, h, v)
}
