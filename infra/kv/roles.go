package kv

import "context"

// Authorizer is implemented by a DB whose server limits what its users may read and write.
type Authorizer interface {
	// Authorize creates roles and users that do not exist, gives the roles their permissions, and the users their
	// roles. It takes nothing away. The users have no passwords: they are the common names of certificates.
	Authorize(ctx context.Context, roles []Role) error
	// AuthEnabled reports whether the server checks permissions.
	AuthEnabled(ctx context.Context) (bool, error)
}

// Role is a set of permissions, with the users that have it.
type Role struct {
	Name        string       `json:"name"`
	Permissions []Permission `json:"permissions"`
	Users       []string     `json:"users,omitempty"`
}

// Permission allows reading a key, or all keys with a prefix, and also writing if Write is set.
type Permission struct {
	Key    string `json:"key"`
	Prefix bool   `json:"prefix,omitempty"`
	Write  bool   `json:"write,omitempty"`
}
