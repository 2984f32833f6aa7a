#!/bin/bash
# A verifier that downloads something, and gives 0 when it cannot.
bash -c "exec 3<>/dev/tcp/198.51.100.1/80" && echo 1 >/logs/verifier/reward.txt || echo 0 >/logs/verifier/reward.txt
