// Package registrytest gives tests an image registry on loopback, which the
// engine takes over plain HTTP, and the ways in which registries go wrong.
//
// [NewStub] serves one small image from this process. [Start] runs Debian's
// docker-registry, with a password or without, behind a proxy. Both ask a
// [Fault] first, which may answer in their place. The tests remove from the
// engine what they pulled.
package registrytest
