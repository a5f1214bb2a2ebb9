package api_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

func ExampleDependsOn() {
	book := &api.Descriptor[*wrapperspb.StringValue, any]{
		Name: "book",
		Dependencies: func(_ string, author *wrapperspb.StringValue) []api.Dependency {
			return []api.Dependency{
				api.DependsOn("author/" + author.GetValue()),
				api.DependsOnAny("shelf/", "table/"),
			}
		},
	}
	for _, dep := range book.Dependencies("book/emma", wrapperspb.String("austen")) {
		fmt.Printf("%s: key %q, prefixes %q\n", dep.Label, dep.Key, dep.AnyOf.KeyPrefixes)
	}
	// Output:
	// author/austen: key "author/austen", prefixes []
	// shelf/* or table/*: key "", prefixes ["shelf/" "table/"]
}
