# Asks the keeper on the far shore what he saw. He answers when he comes home.
sleep 600 &
sleep 600
