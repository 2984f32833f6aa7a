# The image of batch: the static program and certificates, nothing else. It
# runs a sweep through the Docker engine whose socket is mounted into it:
#
#   docker run --rm -v /var/run/docker.sock:/var/run/docker.sock -v "$PWD/runs:/runs" \
#       batch run --subset demo -m scripted/demo -c agent.step_limit=12 -o /runs/demo
#
# scripts/image prepares the build context (batch, ca-certificates.crt and empty
# folders) and needs no registry.
FROM scratch
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# /tmp, and /home/batch for caches and batch's notes about images. Every user may
# write there, so that --user works; a volume at /home/batch keeps them. And the
# helper of pods, see environment.pod.helperImage.
COPY folders /
COPY batch /usr/local/bin/batch
ENV HOME=/home/batch PATH=/usr/local/bin
LABEL org.opencontainers.image.title=batch \
      org.opencontainers.image.description="Run an LLM coding agent over SWE-bench-style datasets"
WORKDIR /
ENTRYPOINT ["/usr/local/bin/batch"]
