package gnmi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	ext "github.com/openconfig/gnmi/proto/gnmi_ext"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
)

// encodings are the supported ones. JSON and JSON_IETF are the same: both are the JSON form of
// protobuf, in which 64-bit numbers are strings, as RFC 7951 demands.
var encodings = []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF, gpb.Encoding_PROTO}

// Capabilities implements the call.
func (s *service) Capabilities(_ context.Context, req *gpb.CapabilityRequest) (*gpb.CapabilityResponse, error) {
	if err := checkExtensions(req.GetExtension()); err != nil {
		return nil, err
	}
	version, _ := proto.GetExtension(gpb.File_github_com_openconfig_gnmi_proto_gnmi_gnmi_proto.Options(), gpb.E_GnmiService).(string)
	resp := &gpb.CapabilityResponse{SupportedEncodings: encodings, GNMIVersion: version}
	for _, m := range s.models {
		resp.SupportedModels = append(resp.SupportedModels, m.data())
	}
	return resp, nil
}

// data describes the model. Its organization is the first part of the name of its message.
func (m *model) data() *gpb.ModelData {
	organization, _, _ := strings.Cut(string(m.ProtoName()), ".")
	return &gpb.ModelData{Name: m.name, Organization: organization, Version: m.Spec().Version}
}

// checkEncoding rejects an encoding that is not supported.
func checkEncoding(e gpb.Encoding) error {
	if slices.Contains(encodings, e) {
		return nil
	}
	return status.Errorf(codes.Unimplemented, "encoding %v: expected one of JSON, JSON_IETF, PROTO", e)
}

// checkExtensions rejects extensions, except those that allowed reports: a client must not
// believe that they had an effect.
func checkExtensions(list []*ext.Extension, allowed ...func(*ext.Extension) bool) error {
	for i, e := range list {
		if !slices.ContainsFunc(allowed, func(f func(*ext.Extension) bool) bool { return f(e) }) {
			name := "of unknown type"
			if f := e.ProtoReflect().WhichOneof(e.ProtoReflect().Descriptor().Oneofs().ByName("ext")); f != nil {
				name = string(f.Name())
			}
			return status.Errorf(codes.Unimplemented, "extension[%d]: the extension %s is not supported by this call", i, name)
		}
	}
	return nil
}

// only returns the models that a request is restricted to; nil: all.
func (s *service) only(list []*gpb.ModelData) (only []*model, err error) {
	var wrong apierr.Violations
	var names []string
	for _, m := range s.models {
		names = append(names, m.name)
	}
	for i, want := range list {
		at := slices.Index(names, want.GetName())
		if at < 0 {
			wrong = append(wrong, apierr.Violation{Field: fmt.Sprintf("use_models[%d].name", i), Text: fmt.Sprintf("unknown model %q%s", want.GetName(), didYouMean(want.GetName(), names))})
			continue
		}
		have := s.models[at].data()
		if o, v := want.GetOrganization(), want.GetVersion(); o != "" && o != have.Organization || v != "" && v != have.Version {
			wrong = append(wrong, apierr.Violation{Field: fmt.Sprintf("use_models[%d]", i), Text: fmt.Sprintf(
				"%s of organization %q, version %q: expected organization %q, version %q", have.Name, o, v, have.Organization, have.Version)})
			continue
		}
		only = append(only, s.models[at])
	}
	return only, wrong.QueryStatus()
}
