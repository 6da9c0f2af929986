# Asks the keeper on the far shore what he saw. His boat calls until he comes home.
while :; do echo "anyone there?" >>calls.txt; sleep 0.05; done &
sleep 600
