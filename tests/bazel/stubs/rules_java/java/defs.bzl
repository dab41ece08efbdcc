# SPDX-License-Identifier: Apache-2.0
"""The rules that Bazel 4 has itself, under the names that its tools load."""

java_binary = native.java_binary
java_import = native.java_import
java_library = native.java_library
java_package_configuration = native.java_package_configuration
java_runtime = native.java_runtime
java_toolchain = native.java_toolchain
