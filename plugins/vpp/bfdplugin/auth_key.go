package bfdplugin

import (
	"context"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"sync"

	"go.fd.io/govpp/api"
	bfdapi "go.fd.io/govpp/binapi/bfd"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/bfdplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	bfd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/bfd"
)

// maxSecret is the number of bytes of the longest secret; VPP appends zeros to shorter ones.
const maxSecret = 20

// authKey is a key. VPP does not list the length, which is 0 then, and the secret.
type authKey struct {
	id     uint32
	typ    uint8 // RFC 5880, section 4.1
	length uint8
	secret [maxSecret]byte
}

// authTypes are the numbers of the types in packets.
var authTypes = map[bfd.AuthKey_Type]uint8{bfd.AuthKey_METICULOUS_KEYED_SHA1: 5, bfd.AuthKey_KEYED_SHA1: 4}

var authKeys = item.Declare("BFD authentication key", "", item.Variant[authKey]{
	Change: func(k authKey, add bool) (request, reply api.Message) {
		if !add {
			return &bfdapi.BfdAuthDelKey{ConfKeyID: k.id}, &bfdapi.BfdAuthDelKeyReply{}
		}
		return &bfdapi.BfdAuthSetKey{ConfKeyID: k.id, AuthType: k.typ, KeyLen: k.length, Key: k.secret[:]}, &bfdapi.BfdAuthSetKeyReply{}
	},
	Dumps: []item.Dump[authKey]{item.List(&bfdapi.BfdAuthKeysDump{}, func(d *bfdapi.BfdAuthKeysDetails) (authKey, bool) {
		return authKey{id: d.ConfKeyID, typ: d.AuthType}, true
	})},
})

// applied are the keys that the agent has given to VPP in a session, by ID.
var applied = session.NewState(func() *sync.Map { return &sync.Map{} })

// note remembers a key with its secret.
func (k authKey) note(vpp *session.VPP) error {
	keys, err := applied.On(vpp)
	if err == nil {
		keys.Store(k.id, k)
	}
	return err
}

// withSecret returns a listed key with the secret that the agent has given to VPP.
func (k authKey) withSecret(vpp *session.VPP) authKey {
	keys, err := applied.On(vpp)
	if err != nil || k.length != 0 {
		return k
	}
	if noted, ok := keys.Load(k.id); ok {
		k.length, k.secret = noted.(authKey).length, noted.(authKey).secret
	}
	return k
}

// reservedKeys is for how many keys VPP has memory after reserve.
const reservedKeys = 256

// reserve makes VPP allocate memory for keys before it has one. VPP moves its keys when it has
// no memory for another one, while sessions have their old addresses: they would read and write
// what is at these addresses by then (src/vnet/bfd/bfd_main.c, to 26.06 at least). VPP keeps
// the memory of keys that are deleted.
func reserve(ctx context.Context, vpp *session.VPP) error {
	has, err := session.Dump[*bfdapi.BfdAuthKeysDetails](ctx, vpp, &bfdapi.BfdAuthKeysDump{})
	if err != nil || len(has) > 0 {
		return err
	}
	if err = fill(ctx, vpp, true); err == nil {
		err = fill(ctx, vpp, false)
	}
	if err != nil {
		return errors.Join(err, fill(ctx, vpp, false))
	}
	return nil
}

// fill adds or deletes keys with the highest IDs.
func fill(ctx context.Context, vpp *session.VPP, add bool) error {
	do, err := authKeys.On(vpp)
	if err != nil {
		return err
	}
	var requests, replies []api.Message
	for n := range uint32(reservedKeys) {
		request, reply := do.Change(authKey{id: math.MaxUint32 - n, typ: authTypes[0], length: 1}, add)
		requests, replies = append(requests, request), append(replies, reply)
	}
	var errs []error
	for _, err := range vpp.CallAll(ctx, requests, replies) {
		if !errors.Is(err, api.BFD_ENOENT) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// NewAuthKey describes keys. VPP refuses to change and to delete a key that a session uses, so
// the sessions are deleted first. VPP does not report secrets: of a key that the agent did not send
// in this session it assumes that the secret is the expected one.
func NewAuthKey(vpp *session.VPP) *kvs.KVDescriptor {
	d := item.NewEntry(vpp, nil, item.Entry[*bfd.AuthKey, authKey, uint32]{
		Name: AuthKeyName, Model: model.AuthKeyModel, Operation: authKeys,
		Resolve: func(r *item.Resolver, v *bfd.AuthKey) authKey {
			k := authKey{id: v.GetId(), typ: authTypes[v.GetType()]}
			if k.typ == 0 {
				r.Fail("type", "%d, expected METICULOUS_KEYED_SHA1 or KEYED_SHA1", v.GetType())
			}
			secret, err := hex.DecodeString(v.GetSecret())
			switch {
			case err != nil:
				r.Fail("secret", "not hexadecimal, expected 1 to %d bytes in 2 characters each", maxSecret)
			case len(secret) == 0 || len(secret) > maxSecret:
				r.Fail("secret", "%d bytes, expected 1 to %d", len(secret), maxSecret)
			}
			k.length = uint8(min(copy(k.secret[:], secret), maxSecret))
			return k
		},
		ID: func(k authKey) uint32 { return k.id },
		Value: func(_ *item.Names, k authKey) *bfd.AuthKey {
			v := &bfd.AuthKey{Id: k.id}
			for typ, number := range authTypes {
				if number == k.typ {
					v.Type = typ
				}
			}
			return v
		},
		Equal: func(a, b authKey) bool {
			a, b = a.withSecret(vpp), b.withSecret(vpp)
			if a.length == 0 || b.length == 0 {
				a.length, b.length, a.secret, b.secret = 0, 0, [maxSecret]byte{}, [maxSecret]byte{}
			}
			return a == b
		},
		Complete: func(_ context.Context, k authKey) error { return k.note(vpp) },
		Gone:     []api.VPPApiError{api.BFD_ENOENT},
		Explain:  map[api.VPPApiError]string{api.BFD_EINUSE: "a session of VPP uses the key"},
	})
	create := d.CreateBatch
	d.CreateBatch = func(ctx context.Context, values []kvs.KVBatchValue) []kvs.KVBatchResult {
		if err := reserve(ctx, vpp); err != nil {
			return slices.Repeat([]kvs.KVBatchResult{{Err: err}}, len(values))
		}
		return create(ctx, values)
	}
	return d
}
