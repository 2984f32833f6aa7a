// Package docker gives each instance its container, through the engine's API
// and never through the command-line client.
//
// An [Engine] is one connection to one Docker engine. It finds the engine the
// way the docker command does (DOCKER_HOST, then the context, then the default
// socket), speaks the version both sides know, and sees to images: [Engine.Ensure]
// pulls what is missing once, however many callers ask at the same time. A
// [Container] runs commands with exact bytes and exit codes, takes and gives
// files, and goes away with [Container.Remove].
//
// What a caller may rely on: a container has no network, no mounts, no engine's
// socket, no new privileges, nothing of this process's environment, few
// capabilities and a limit on processes unless the [Spec] says otherwise; a
// create that fails leaves nothing behind; a command that passes its time limit
// is killed with all its children; a container or engine that is gone is an
// error with blame, never the output of a command. Every container carries
// labels that say whose it is, so that [Engine.Reap] can remove what a killed
// process left.
//
// Root keeps the capabilities that installing and testing software needs:
// CHOWN, DAC_OVERRIDE, FOWNER and FSETID (to unpack an archive with its owners
// and modes, and to work in files of others), SETUID and SETGID (su, and package
// managers that drop to a user of their own), KILL (to end such a user's
// processes), NET_BIND_SERVICE (a test's server at port 80) and SYS_CHROOT
// (installers that unpack into a tree of their own). Of what engines give
// besides, it lacks: MKNOD (devices), NET_RAW (packets forged on a shared
// network), SETPCAP and SETFCAP (handing capabilities on) and AUDIT_WRITE (the
// machine's log).
//
// # An engine that goes away
//
// A call that loses the engine is a Transient fault that is [ErrOutage]; it says
// nothing about the instance. From then on [Engine.Ready], and with it whatever
// starts or removes something, waits until the engine answers again, at most
// [Config.Patience]. A container whose engine was restarted without live-restore
// has died with it, which is ErrOutage too.
//
// # Podman
//
// Podman's Docker-compatible socket (podman system service) serves as an engine;
// tried with 4.3, as root. It needs catatonit. What differs: a command that ran
// out of memory is told as killed (137), not as out of memory; the containers of
// the shared network reach one another; the engine mounts a file of its own and
// its init into each container; a registry over plain HTTP must be named in its
// registries.conf; and where the process may not raise limits, as in some
// containers and sandboxes, its containers.conf must set default_ulimits.
//
// It is not a sandbox against hostile code: it is as tight as the engine is.
package docker
