#!/bin/bash
ls /sys/class/net >net.txt
