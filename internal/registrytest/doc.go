// Package registrytest gives tests an image registry on loopback, which the
// engine takes over plain HTTP, and the ways in which registries go wrong.
//
// [Start] serves what a test pushes, with a password or without; [NewStub] has one
// small image. Both ask a [Fault] first, which may answer in their place. The tests
// remove from the engine what they pulled.
package registrytest
