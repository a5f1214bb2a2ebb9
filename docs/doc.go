// Package docs holds the documentation for operators and users. It has no code besides
// the tests of what the documents of the repository say.
package docs
