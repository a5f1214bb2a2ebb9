package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

var _ kv.Authorizer = (*database)(nil)

// Authorize implements kv.Authorizer.
func (d *database) Authorize(ctx context.Context, roles []kv.Role) error {
	for i := range roles {
		if err := d.authorize(ctx, &roles[i]); err != nil {
			return wrap("authorize", roles[i].Name, err)
		}
	}
	return nil
}

func (d *database) authorize(ctx context.Context, r *kv.Role) error {
	bound := func(f func(context.Context) error) error {
		ctx, cancel := d.bounded(ctx)
		defer cancel()
		return f(ctx)
	}
	err := bound(func(ctx context.Context) error {
		_, err := d.client.RoleAdd(ctx, r.Name)
		return unless(err, rpctypes.ErrRoleAlreadyExist)
	})
	for _, p := range r.Permissions {
		if err != nil {
			return err
		}
		err = bound(func(ctx context.Context) error {
			end, kind := "", clientv3.PermissionType(clientv3.PermRead)
			if p.Prefix {
				end = clientv3.GetPrefixRangeEnd(p.Key)
			}
			if p.Write {
				kind = clientv3.PermissionType(clientv3.PermReadWrite)
			}
			_, err := d.client.RoleGrantPermission(ctx, r.Name, p.Key, end, kind)
			return err
		})
	}
	for _, user := range r.Users {
		if err != nil {
			return err
		}
		err = bound(func(ctx context.Context) error {
			_, err := d.client.UserAddWithOptions(ctx, user, "", &clientv3.UserAddOptions{NoPassword: true})
			if err = unless(err, rpctypes.ErrUserAlreadyExist); err == nil {
				_, err = d.client.UserGrantRole(ctx, user, r.Name)
			}
			return err
		})
	}
	return err
}

// unless returns an error unless it is the other one.
func unless(err, other error) error {
	if errors.Is(err, other) {
		return nil
	}
	return err
}

// AuthEnabled implements kv.Authorizer. etcd before 3.5 has no request for it, but refuses logins if authentication is off.
func (d *database) AuthEnabled(ctx context.Context) (bool, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	_, err := d.client.Authenticate(ctx, "tenuto", "tenuto")
	switch {
	case errors.Is(err, rpctypes.ErrAuthNotEnabled):
		return false, nil
	case err == nil, errors.Is(err, rpctypes.ErrAuthFailed):
		return true, nil
	}
	return false, wrap("status of the authentication", "", err)
}
