// Package webui tests the pages of vpp-agent in a headless Chromium. It is a module of its
// own, so that programs that import the agent do not require the driver of the browser.
package webui
