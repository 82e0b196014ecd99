"""The structure of Horovod's Keras MNIST example on made-up data; with one thing wrong on one rank, on demand.

  train_keras.py [--fault leave|stuck|slow|broadcast] [--rank R] [--at STEP] [--steps N] [--epochs N] [--seconds S]

Every rank prints "train: rank R pid P", and at the end "train: rank R finished"; the guilty one "train: fault" before
what it does."""
import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import horovod.tensorflow.keras as hvd  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--fault", default="none")
parser.add_argument("--rank", type=int, default=1)
parser.add_argument("--at", type=int, default=20)
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--seconds", type=float, default=0.05)
options = parser.parse_args()

hvd.init()
me = hvd.rank()
guilty = me == options.rank
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(2)
print("train: rank %d pid %d" % (me, os.getpid()), flush=True)


def fault():
    print("train: fault", flush=True)


def load():
    """Batches of images and labels; the slow rank needs longer for each, the stuck one gets no more."""
    random = np.random.default_rng(me)
    for step in range(1_000_000):
        if guilty and options.fault == "slow":
            time.sleep(options.seconds)
        if guilty and options.fault == "stuck" and step == options.at:
            fault()
            os.read(os.pipe()[0], 1)
        yield random.random((32, 28, 28, 1), np.float32), random.integers(0, 10, 32)


class Leave(tf.keras.callbacks.Callback):
    """Ends the training of one rank before the others'."""
    def on_train_batch_begin(self, batch, logs=None):
        if batch == options.at:
            fault()
            raise SystemExit(1)


data = tf.data.Dataset.from_generator(load, output_signature=(
    tf.TensorSpec((32, 28, 28, 1), tf.float32), tf.TensorSpec((32,), tf.int64)))
model = tf.keras.Sequential([
    tf.keras.layers.Conv2D(8, [3, 3], activation="relu", input_shape=(28, 28, 1)),
    tf.keras.layers.MaxPooling2D(pool_size=(4, 4)),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(10, activation="softmax"),
])
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.001 * hvd.size()))
model.compile(loss=tf.losses.SparseCategoricalCrossentropy(), optimizer=optimizer, metrics=["accuracy"],
              experimental_run_tf_function=False)
callbacks = [hvd.callbacks.MetricAverageCallback(),
             hvd.callbacks.LearningRateWarmupCallback(initial_lr=0.001 * hvd.size(), warmup_epochs=1, verbose=0)]
if options.fault != "broadcast" or guilty:
    callbacks.insert(0, hvd.callbacks.BroadcastGlobalVariablesCallback(0))
if options.fault == "broadcast" and guilty:
    fault()
if options.fault == "leave" and guilty:
    callbacks.append(Leave())
if me == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("checkpoint-{epoch}.h5"))

model.fit(data, steps_per_epoch=options.steps, callbacks=callbacks, epochs=options.epochs, verbose=0)
print("train: rank %d finished" % me, flush=True)
