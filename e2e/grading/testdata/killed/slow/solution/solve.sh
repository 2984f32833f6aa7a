#!/bin/bash
echo once >>once.txt
