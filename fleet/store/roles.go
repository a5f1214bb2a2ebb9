package store

import (
	"context"
	"fmt"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

// probeKey is the key that clients of etcd read to see whether the server answers.
const probeKey = "/probe-etcd-connection"

// Roles returns the permissions of the agents of a fleet and of its operators in etcd. An agent reads its own objects, the
// configurations and the decisions, and writes only its own report and status, and its own keys below the prefix of
// agents. etcd has no permission to create a decision without changing others, so agents cannot abort a wave.
// Operators and controllers read and write the whole fleet.
func Roles(fleet string, labels, operators []string) []kv.Role {
	root := Root + fleet + "/"
	roles := []kv.Role{{
		Name: "tenuto-" + fleet + "-member", Users: labels,
		Permissions: []kv.Permission{
			{Key: probeKey}, {Key: root + epochKey},
			{Key: root + "revision/", Prefix: true}, {Key: root + "manifest/", Prefix: true}, {Key: root + "chunk/", Prefix: true}, {Key: root + "rollout/", Prefix: true},
		},
	}}
	for _, label := range labels {
		own := root + agentKey(label, "")
		r := kv.Role{Name: "tenuto-" + fleet + "-agent-" + label, Users: []string{label}, Permissions: []kv.Permission{{Key: own, Prefix: true}}}
		for _, part := range []string{"report", "status", "hold", "rival"} {
			r.Permissions = append(r.Permissions, kv.Permission{Key: own + part, Write: true})
		}
		r.Permissions = append(r.Permissions, kv.Permission{Key: servicelabel.NewPlugin().GetDifferentAgentPrefix(label), Prefix: true, Write: true})
		roles = append(roles, r)
	}
	if len(operators) > 0 {
		roles = append(roles, kv.Role{
			Name: "tenuto-" + fleet + "-operator", Users: operators,
			Permissions: []kv.Permission{
				{Key: probeKey}, {Key: root, Prefix: true, Write: true}, {Key: servicelabel.NewPlugin().GetAllAgentsPrefix(), Prefix: true},
			},
		})
	}
	return roles
}

// Authorize writes roles into the store; enabled reports whether the store checks them.
func (s Store) Authorize(ctx context.Context, roles []kv.Role) (enabled bool, err error) {
	a, ok := s.db.(kv.Authorizer)
	if !ok {
		return false, fmt.Errorf("roles: %w", kv.ErrNotSupported)
	}
	if enabled, err = a.AuthEnabled(ctx); err == nil {
		err = a.Authorize(ctx, roles)
	}
	return enabled, err
}
