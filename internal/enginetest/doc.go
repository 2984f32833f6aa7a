// Package enginetest gives tests a Docker engine of their own, which they may
// stop, kill and start again, and small images made of the host's programs.
package enginetest
