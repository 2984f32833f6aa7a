// Package registrytest gives tests an image registry on loopback, which the
// engine accepts over plain HTTP, and lets it fail as registries do.
//
// [Start] serves the images that a test pushes, with or without a password; [NewStub]
// serves one small image. Both first call a [Fault], which may answer instead. The tests
// must remove the images that they pulled from the engine.
//
// The registry of github.com/google/go-containerregistry does not serve them: it answers 416 to
// "Range: bytes=N-", by which an engine resumes a download, and its module needs a newer major
// version of github.com/docker/cli than the program.
package registrytest
